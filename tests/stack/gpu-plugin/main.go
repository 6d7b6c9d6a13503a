// Command gpu-plugin is a kubelet device plugin for GPUs that are not there.
//
//	gpu-plugin nvidia.com/gpu 0 1
//
// Device N is the character device /dev/fakegpuN of the host. With it goes the host's regular file
// /run/gpu-lock/gpuN, which whoever computes on the GPU holds with flock(2): a test can then show
// that no GPU is ever in two hands. The device node itself would not do for that, since every
// container gets a node of its own and flock follows the inode.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	lockDir     = "/run/gpu-lock"
	pollKubelet = 500 * time.Millisecond
	callTimeout = 5 * time.Second
)

func devicePath(id string) string { return "/dev/fakegpu" + id }
func lockPath(id string) string   { return filepath.Join(lockDir, "gpu"+id) }

// plugin answers the kubelet. Its devices never change, so ListAndWatch says them once.
type plugin struct {
	api.UnimplementedDevicePluginServer
	ids     []string
	stopped <-chan struct{}
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	devices := make([]*api.Device, 0, len(p.ids))
	for _, id := range p.ids {
		devices = append(devices, &api.Device{ID: id, Health: api.Healthy})
	}
	if err := stream.Send(&api.ListAndWatchResponse{Devices: devices}); err != nil {
		return err
	}
	// The kubelet takes the end of the stream for the death of the plugin.
	select {
	case <-stream.Context().Done():
	case <-p.stopped:
	}
	return nil
}

func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, allocate(container.DevicesIds))
		log.Printf("allocated GPU %s", strings.Join(container.DevicesIds, ","))
	}
	return response, nil
}

func allocate(ids []string) *api.ContainerAllocateResponse {
	response := &api.ContainerAllocateResponse{Envs: map[string]string{"FAKE_GPU_IDS": strings.Join(ids, ",")}}
	for _, id := range ids {
		response.Devices = append(response.Devices, &api.DeviceSpec{
			HostPath: devicePath(id), ContainerPath: devicePath(id), Permissions: "rw",
		})
		response.Mounts = append(response.Mounts, &api.Mount{
			HostPath: lockPath(id), ContainerPath: lockPath(id),
		})
	}
	return response
}

// prepare makes the lock files and refuses a device that a container could not be given.
func prepare(ids []string) error {
	if err := os.MkdirAll(lockDir, 0o755); err != nil {
		return err
	}
	for _, id := range ids {
		info, err := os.Stat(devicePath(id))
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeCharDevice == 0 {
			return fmt.Errorf("%s is not a character device", devicePath(id))
		}
		// Never truncated nor replaced: after a restart of the plugin the same inode is still held.
		file, err := os.OpenFile(lockPath(id), os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			return err
		}
		// Training runs as the uid of the job's owner; the umask would keep it out.
		if err := errors.Join(file.Chmod(0o666), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// waitForKubelet returns the kubelet's socket as soon as there is one.
func waitForKubelet(ctx context.Context) (os.FileInfo, error) {
	for {
		info, err := os.Stat(api.KubeletSocket)
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return info, err
		}
		if err := sleep(ctx); err != nil {
			return nil, err
		}
	}
}

func sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pollKubelet):
		return nil
	}
}

// serve registers with this kubelet and returns nil when it has gone or another one has taken its
// place. A kubelet that starts empties the directory, our socket included: both files are looked at.
func serve(ctx context.Context, resource string, ids []string, kubelet os.FileInfo) error {
	endpoint := strings.ReplaceAll(resource, "/", "-") + ".sock"
	socket := filepath.Join(api.DevicePluginPath, endpoint)
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	stopped := make(chan struct{})
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, &plugin{ids: ids, stopped: stopped})
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	defer server.Stop()
	defer close(stopped)

	if err := register(ctx, resource, endpoint); status.Code(err) == codes.Unavailable {
		// The socket of a kubelet that was killed, and whose successor has not come yet.
		return sleep(ctx)
	} else if err != nil {
		return fmt.Errorf("the kubelet refused %s: %w", resource, err)
	}
	log.Printf("registered %s: GPU %s", resource, strings.Join(ids, ","))
	for {
		select {
		case err := <-failed:
			return err
		default:
		}
		if err := sleep(ctx); err != nil {
			return err
		}
		now, err := os.Stat(api.KubeletSocket)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		// An inode number comes back at once; the time tells two sockets apart.
		if err != nil || !os.SameFile(now, kubelet) || !now.ModTime().Equal(kubelet.ModTime()) {
			return nil
		}
		if _, err := os.Stat(socket); err != nil {
			return nil
		}
	}
}

func register(ctx context.Context, resource, endpoint string) error {
	connection, err := grpc.NewClient("unix://"+api.KubeletSocket,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err = api.NewRegistrationClient(connection).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: resource, Options: &api.DevicePluginOptions{},
	})
	return err
}

func run(ctx context.Context, resource string, ids []string) error {
	if err := prepare(ids); err != nil {
		return err
	}
	for {
		kubelet, err := waitForKubelet(ctx)
		if err != nil {
			return err
		}
		if err := serve(ctx, resource, ids, kubelet); err != nil {
			return err
		}
	}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: gpu-plugin RESOURCE ID...")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2:]); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}
