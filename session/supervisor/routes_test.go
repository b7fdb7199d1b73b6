package supervisor

import "testing"

func TestNoRoutesAreReadAsTheKernelWritesThem(t *testing.T) {
	const v4 = "Ip: Forwarding DefaultTTL OutDiscards OutNoRoutes ReasmTimeout\nIp: 2 64 20 7 0\nIcmp: InMsgs OutNoRoutes\nIcmp: 1 99\n"
	const v6 = "Ip6InReceives                   \t12\nIp6OutNoRoutes                  \t3\n"
	for _, row := range []struct {
		name, v4, v6 string
		want         int64
		ok           bool
	}{
		{"both", v4, v6, 10, true},
		{"without IPv6", v4, "", 7, true},
		{"none", "", "", 0, false},
		{"a line cut short", "Ip: Forwarding OutNoRoutes\nIp: 2\n", "", 0, false},
		{"no number", "Ip: OutNoRoutes\nIp: x\n", "Ip6OutNoRoutes y\n", 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, ok := noRoutes(row.v4, row.v6); got != row.want || ok != row.ok {
				t.Errorf("got %d, %v, want %d, %v", got, ok, row.want, row.ok)
			}
		})
	}
}
