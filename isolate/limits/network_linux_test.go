package limits

import (
	"os"
	"testing"
)

func TestNumbersOfSockstat(t *testing.T) {
	text := []byte("sockets: used 33\nTCP: inuse 9 orphan 0 tw 458 alloc 10 mem 145\nUDP: inuse 7 mem 41\nUDPLITE: inuse 5\nRAW: inuse x\nFRAG: inuse 0 memory 0\n")
	for _, tt := range []struct {
		protocol, key string
		want          int64
	}{{"TCP", "inuse", 9}, {"TCP", "mem", 145}, {"UDP", "inuse", 7}, {"UDP", "mem", 41}, {"UDPLITE", "mem", 0}, {"RAW", "inuse", 0}, {"SCTP", "mem", 0}} {
		if got := sockstat(text, tt.protocol, tt.key); got != tt.want {
			t.Errorf("%s %s: got %d, want %d", tt.protocol, tt.key, got, tt.want)
		}
	}
}

func TestWhoBringsQueuesUnderPressureEnds(t *testing.T) {
	for _, tt := range []struct {
		what string
		q    queues
		want string
	}{
		{"by its sockets", queues{"TCP", 101, 100, 20, 1000}, "TCP"},
		{"UDP too", queues{"UDP", 101, 100, 20, 1000}, "UDP"},
		{"no pressure", queues{"TCP", 100, 100, 20, 1000}, ""},
		{"few sockets", queues{"TCP", 101, 100, 20, leastSockets - 1}, ""},
		{"the host's are more", queues{"TCP", 101, 100, 1000, 1000}, ""},
		{"bounds not known", queues{"TCP", 101, 0, 20, 1000}, ""},
	} {
		if got := pressed([]queues{{protocol: "UDP"}, tt.q}); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

// One whose limit is the kernel's own has none here.
func TestALookSeesQueuesUnderPressureWithoutALimit(t *testing.T) {
	for _, limit := range []int64{0, 1 << 40} {
		j := Judge{queues: func(int) ([]queues, error) { return []queues{{"TCP", 101, 100, 20, 1000}}, nil }}
		if v, err := j.Look(os.Getpid(), limit, 0); err != nil || !v.Over || v.Pressed != "TCP" {
			t.Errorf("limit %d: got %v, %q, %v, want it over by TCP", limit, v.Over, v.Pressed, err)
		}
		j.queues = nil
		if v, err := j.Look(os.Getpid(), limit, 0); err != nil || v.Over || v.Pressed != "" {
			t.Errorf("limit %d, this process's own network: got %v, %q, %v", limit, v.Over, v.Pressed, err)
		}
	}
}
