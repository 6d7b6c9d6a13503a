--[[
Refuse at sbatch what the prolog would refuse: for sites that want the error before the queue.

On login nodes, which need bridgectl and the site's bridge.toml:
    copy this file beside slurm.conf, or call bridge_refusal() from the cli_filter.lua that is there,
    and set CliFilterPlugins=lua in their slurm.conf.

It asks `bridgectl check` as the user who submits; no server is asked. A spec that cannot be judged here (no bridge.toml, a
form of an option that check does not know) passes, and the prolog has the last word. Users can go round a cli_filter,
so this is a courtesy and no defence: the prolog is that.
--]]

local TOKEN = "k8s="
local REFUSED = 1 -- exit code of `bridgectl check` for a spec that would not run
-- sbatch's options, by the names that cli_filter has for them, which `bridgectl check` takes, too.
local KNOWN = { "nodes", "cpus-per-task", "gpus-per-node", "mem", "account", "partition", "qos", "job-name" }

local function quoted(text)
    return "'" .. string.gsub(text, "'", "'\\''") .. "'"
end

-- What is not given is nil or a number that nobody writes: 0 CPUs, 1-0 nodes (Slurm 24.11). Of a range of nodes none is told.
local function is_given(value)
    return value ~= nil and value ~= "" and value ~= "0" and not string.match(value, "^%d+-%d+$")
end

-- The path behind k8s= in --extra or --comment, nil for a job that is not the bridge's.
local function spec_of(options)
    for _, name in ipairs({ "extra", "comment" }) do
        local path = string.match(" " .. (options[name] or ""), "[%s,]" .. TOKEN .. "([^%s,]+)")
        if path then
            return path
        end
    end
    return nil
end

local function command_for(path, options)
    local words = { "bridgectl check" }
    for _, name in ipairs(KNOWN) do
        if is_given(options[name]) then
            table.insert(words, "--" .. name .. "=" .. quoted(options[name]))
        end
    end
    local is_option = string.sub(path, 1, 1) == "-"
    table.insert(words, quoted(is_option and "./" .. path or path))
    local directory = is_given(options["chdir"]) and options["chdir"] or "."
    return "cd " .. quoted(directory) .. " && " .. table.concat(words, " ")
end

-- What `bridgectl check` says against this job, nil where it says nothing. Lua 5.1 knows no exit code of popen.
function bridge_refusal(options)
    local path = spec_of(options)
    if options["type"] ~= "sbatch" or path == nil then
        return nil
    end
    local pipe = io.popen("(" .. command_for(path, options) .. ") 2>&1; echo exit $?")
    local said = pipe:read("*a")
    pipe:close()
    local reasons, code = string.match(said, "^(.*)exit (%d+)%s*$")
    if tonumber(code) ~= REFUSED then
        return nil
    end
    return (string.gsub(reasons, "%s+$", ""))
end

function slurm_cli_setup_defaults(options, early_pass)
    return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
    local reasons = bridge_refusal(options)
    if reasons then
        for line in string.gmatch(reasons, "[^\n]+") do
            slurm.log_error("%s", line)
        end
        return slurm.ERROR
    end
    return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
    return slurm.SUCCESS
end
