/* The first process of every pod: holds its namespaces and reaps what is left to it. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void reap(int signum) { (void)signum; while (waitpid(-1, NULL, WNOHANG) > 0) { } }
static void leave(int signum) { (void)signum; _exit(EXIT_SUCCESS); }

int main(void)
{
	signal(SIGCHLD, reap);
	signal(SIGINT, leave);
	signal(SIGTERM, leave);
	for (;;)
		pause();
}
