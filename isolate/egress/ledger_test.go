package egress

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fumehood/isolate/egress/record"
)

func TestAFloodIsOneLineASecond(t *testing.T) {
	t0 := time.Unix(1000, 0)
	refused := func(host, path string) record.Attempt {
		return record.Attempt{Method: "GET", Host: host, Path: path, Reason: "no entry"}
	}
	var f flood
	var lines []record.Attempt
	for i := range 5000 { // over 5 s
		lines = append(lines, f.add(refused("a.test", fmt.Sprint(i)), t0.Add(time.Duration(i)*time.Millisecond))...)
	}
	lines = append(lines, f.rest(t0.Add(6*time.Second))...)
	total := 0
	for _, l := range lines {
		total += max(1, l.Times)
	}
	if total != 5000 || len(lines) > floodAfter+6 {
		t.Errorf("got %d lines that stand for %d, want at most %d for 5000", len(lines), total, floodAfter+6)
	}
	if f.holds() && len(f.rest(t0.Add(time.Hour))) == 0 {
		t.Error("got some held back, want none")
	}
}

func TestWhatIsAllowedOrNotAlikeHasItsOwnLine(t *testing.T) {
	var f flood
	n := 0
	for i := range 200 {
		n += len(f.add(record.Attempt{Allowed: true, Method: "GET", Host: "a.test"}, time.Unix(1000, 0)))
		n += len(f.add(record.Attempt{Method: "GET", Host: fmt.Sprintf("h%d.test", i), Reason: "no entry"}, time.Unix(1000, 0)))
	}
	if n != 400 {
		t.Errorf("got %d lines, want 400", n)
	}
}

func TestManyHostsAtOnceAreAFloodToo(t *testing.T) {
	var f flood
	n := 0
	for i := range 100_000 {
		n += len(f.add(record.Attempt{Method: "LOOKUP", Host: fmt.Sprintf("%d.test", i), Reason: "names"}, time.Unix(1000, 0)))
	}
	if n > floodKinds+floodAfter || len(f.kinds) > floodKinds+8 {
		t.Errorf("got %d lines and %d kinds kept, want at most %d", n, len(f.kinds), floodKinds+floodAfter)
	}
	if rest := f.rest(time.Unix(1001, 0)); len(rest) != 1 || rest[0].Times != 100_000-n {
		t.Errorf("got %+v, want one line for the %d others", rest, 100_000-n)
	}
}

func TestTheRecordHasABoundAndCountsGoOn(t *testing.T) {
	var lines []record.Attempt
	l := newLedger("s1", MaxRecord-2000, func(a record.Attempt) { lines = append(lines, a) })
	for range 100 {
		l.add(record.Attempt{Allowed: true, Path: strings.Repeat("p", 100), Up: 1})
	}
	l.close()
	last := lines[len(lines)-1]
	if len(lines) > 10 || last.Reason != Full || last.Session != "s1" {
		t.Errorf("got %d lines, the last %+v, want a few and one that says so", len(lines), last)
	}
	if n := l.counts(); n.Allowed != 100 || n.Up != 100 || n.Unwritten != int64(100-len(lines)+1) {
		t.Errorf("got %+v, want all counted", n)
	}
	lines = nil
	l = newLedger("s1", MaxRecord+1, func(a record.Attempt) { lines = append(lines, a) })
	l.add(record.Attempt{Allowed: true})
	if len(lines) != 0 || l.counts().Unwritten != 1 {
		t.Errorf("a full record, resumed: got %d lines, %+v, want none", len(lines), l.counts())
	}
}

func TestWhatIsHeldBackIsWrittenWithoutAnotherAttempt(t *testing.T) {
	got := make(chan record.Attempt, 100)
	l := newLedger("s1", 0, func(a record.Attempt) { got <- a })
	for range floodAfter + 5 {
		l.add(record.Attempt{Reason: "no entry"})
	}
	for range floodAfter {
		<-got
	}
	select {
	case a := <-got:
		if a.Times != 5 {
			t.Errorf("got %+v, want it to stand for 5", a)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("got nothing within 10 s, want what was held back")
	}
	l.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flood.holds() {
		t.Error("got some held back after the end, want none")
	}
}
