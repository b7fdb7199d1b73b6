package prove

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// inside are listeners of the probe's, which the host tries to reach.
func (d *deny) inside() error {
	free, err := openListener(ipSock(unix.SOCK_STREAM, 0, netip.MustParseAddr("127.0.0.1"), 0, 0))
	if err != nil {
		return err
	}
	free.close() // its port is free now, and hardly anybody else gets it
	tmp, err := d.e.plant(os.TempDir())
	if err != nil {
		return err
	}
	file := filepath.Join(tmp, "inside")
	for _, r := range []struct {
		id, tried, control string
		at                 sock
		args               map[string]string
	}{
		{"listen-tcp", "listen on a port of loopback, to be reached from the host", "own-tcp4", free.at, nil},
		{"listen-abstract", "listen on an abstract name, to be reached from the host", "own-abstract", unixSock(unix.SOCK_STREAM, "@fumehood-inside-"+d.e.id), nil},
		{"listen-unix", "listen in /tmp, to be reached from the host", "own-unix", unixSock(unix.SOCK_STREAM, file), map[string]string{"path": file, "folder": tmp}},
	} {
		k := &door{at: r.at}
		d.doors = append(d.doors, k)
		p := path{at: r.at, do: "serve", args: map[string]string{"window": window.String()}}
		for name, v := range r.args {
			p.args[name] = v
		}
		do := p.action(r.at.addr)
		d.rows = append(d.rows, row{
			id: r.id, tried: r.tried + ": " + r.at.name, expected: "not reached", do: do, control: r.control,
			before: func() error {
				_, k.word = nonce()
				do.Args["data"] = hex.EncodeToString([]byte(k.word))
				k.start()
				return nil
			},
			judge: func(s *seen) outcome { return unheard(k.stop(), s, k.word) },
		})
	}
	return nil
}

const (
	// window is how long a probe listens, and between how often the host tries.
	window  = 150 * time.Millisecond
	between = 4 * time.Millisecond
)

// door is a place inside that the host knocks at, until stop.
type door struct {
	at     sock
	word   string
	cancel context.CancelFunc
	wg     sync.WaitGroup
	knocks []knock
}

func (k *door) start() {
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel, k.knocks = cancel, nil
	k.wg.Go(func() {
		tick := time.NewTicker(between)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				one := knock{begin: time.Now()}
				one.answer, one.err = ask(k.at)
				one.end = time.Now()
				k.knocks = append(k.knocks, one)
			}
		}
	})
}

// stop waits for the last try; more than once does no harm.
func (k *door) stop() []knock {
	if k.cancel != nil {
		k.cancel()
		k.wg.Wait()
	}
	return k.knocks
}

// ask connects and reads what it is told.
func ask(at sock) (string, error) {
	fd, err := connectTo(at)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), at.name)
	defer f.Close() // it was only read
	tv := unix.NsecToTimeval((300 * time.Millisecond).Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxArrival))
	if len(b) == 0 && err == nil {
		err = errors.New("no answer")
	}
	return string(b), err
}
