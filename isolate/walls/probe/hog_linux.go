package probe

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// hogActions are those of test 8: hogs. Each takes more and more of one thing
// until it is refused, or stops by itself at the ceiling "to".
var hogActions = map[string]action{
	"hog-memory":   hogMemory,
	"hog-forks":    hogForks,
	"hog-threads":  hogThreads,
	"hog-cpu":      hogCPU,
	"hog-disk":     hogDisk,
	"hog-detached": hogDetached,
	"hog-truncate": hogTruncate,
}

// hogChildren is what the probe starts again for them.
var hogChildren = map[string]func([]string) int{}

const mib = 1 << 20

// greed is how a hog grows: at once to start, then at so much a second, so that
// a limit that is sampled is given the time that it says it needs.
type greed struct {
	start, to, rate int64
	hold            time.Duration // at the ceiling, for whoever samples
}

func greedOf(args map[string]string) (greed, error) {
	var g greed
	var ms int64
	for key, at := range map[string]*int64{"start": &g.start, "to": &g.to, "rate": &g.rate, "hold": &ms} {
		n, err := strconv.ParseInt(args[key], 10, 64)
		if err != nil || n < 0 {
			return g, fmt.Errorf("%s %q is no number", key, args[key])
		}
		*at = n
	}
	g.hold = time.Duration(ms) * time.Millisecond
	return g, nil
}

// grow calls step, which takes chunk more, until it fails or the ceiling is
// reached.
func (g greed) grow(chunk int64, step func() error) Said {
	begin := time.Now()
	var have int64
	for have < g.to {
		if ahead := have - g.start; ahead > 0 && g.rate > 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(float64(ahead) / float64(g.rate) * float64(time.Second)))))
		}
		if err := step(); err != nil {
			s := Said{Text: fmt.Sprintf("refused at %d: %v", have, err), Step: 1}
			if e := unix.Errno(0); errors.As(err, &e) {
				s.Errno = int(e)
			}
			time.Sleep(g.hold) // so that it can be seen from outside how much that is
			return s
		}
		have += chunk
	}
	time.Sleep(g.hold)
	return Said{Text: HogUnstopped}
}

// HogUnstopped is what a hog says that nothing has stopped.
const HogUnstopped = "reached its ceiling unstopped"

func noHog(err error) Said { return Said{Err: err.Error()} }

func hogForks(args map[string]string) Said {
	g, err := greedOf(args)
	if err != nil {
		return noHog(err)
	}
	var kids []int
	defer func() { reap(kids) }()
	return g.grow(1, func() error {
		pid, errno := forkChild(nil, nil)
		if errno != 0 {
			return fmt.Errorf("clone: %w", errno)
		}
		kids = append(kids, pid)
		return nil
	})
}

// hogThreads takes threads of the runtime, which ends the process when it is
// refused one.
func hogThreads(args map[string]string) Said {
	g, err := greedOf(args)
	if err != nil {
		return noHog(err)
	}
	debug.SetMaxThreads(int(g.to) + 100)
	stop := make(chan struct{})
	defer close(stop)
	return g.grow(1, func() error {
		up := make(chan struct{})
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with it
			close(up)
			<-stop
		}()
		<-up
		return nil
	})
}

// hogCPU first asks for every processor, then spins on so many threads.
func hogCPU(args map[string]string) Said {
	threads, err1 := strconv.Atoi(args["threads"])
	ms, err2 := strconv.Atoi(args["ms"])
	if err := firstOf(err1, err2); err != nil {
		return noHog(err)
	}
	var all unix.CPUSet
	for cpu := range len(all) * 64 {
		all.Set(cpu)
	}
	// Refused or not, the processors outside tell what was used.
	asked := unix.SchedSetaffinity(0, &all)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	until := time.Now().Add(time.Duration(ms) * time.Millisecond)
	done := make(chan struct{})
	for range threads {
		go func() {
			runtime.LockOSThread()
			_ = unix.SchedSetaffinity(0, &all) // as above, for this thread
			for time.Now().Before(until) {
				for range 1000 {
					_ = 0
				}
			}
			done <- struct{}{}
		}()
	}
	for range threads {
		<-done
	}
	return Said{Text: fmt.Sprintf("spun on %d threads; sched_setaffinity to all: %v", threads, asked)}
}
