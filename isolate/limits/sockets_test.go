package limits

import "testing"

func TestQueuesOfConnectionsAreSummed(t *testing.T) {
	const table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:0C38 00000000:0000 0A 00000000:00000200 00:00000000 00000000  1001        0 1 1 0 100 0 0 10 0\n" +
		"   1: 0100007F:D431 0100007F:0C38 01 00010000:00000010 01:00000014 00000000  1001        0 2 1 0 20 4 30 10 -1\n"
	got, err := parseQueues([]byte(table))
	if err != nil || got != 0x10010 {
		t.Errorf("got %d, %v; want the connection's two queues, 65552, and not the listener's", got, err)
	}
	if _, err := parseQueues([]byte("1: a b 01 zz:00 x\n")); err == nil {
		t.Error("got no error for a queue that is no number")
	}
}
