package isolate

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"fumehood/isolate/layer"
	"fumehood/isolate/limits"
)

// chooseCPUs picks the processors of a session; nil when it is not bound.
func chooseCPUs(spec Spec) ([]int, error) {
	if spec.CPUs <= 0 {
		return nil, nil
	}
	usable, err := limits.UsableCPUs()
	if err != nil {
		return nil, &layer.Error{
			Layer: layer.Limits, Op: fmt.Sprintf("bind to %d processors", spec.CPUs), Err: err,
			Hint: `write cpus = "none" in [limits] to start without`,
		}
	}
	return limits.ChooseCPUs(usable, spec.CPUs, spec.ID), nil
}

// bindThread binds the thread that PID 1 is born of. Inside the filter refuses
// sched_setaffinity, so that what is born bound stays so.
func bindThread(cpus []int) error {
	if cpus == nil {
		return nil
	}
	if err := limits.PinThread(cpus); err != nil {
		return &layer.Error{Layer: layer.Limits, Op: "bind to processors", Err: err}
	}
	return nil
}

// cpuFacts reads what every thread of PID 1 and of the spawner may use.
func cpuFacts(first, spawner int, want []int) (Facts, error) {
	if want == nil {
		return nil, nil
	}
	var out Facts
	for _, p := range []struct {
		name string
		pid  int
	}{{"PID 1", first}, {"spawner", spawner}} {
		tids, err := limits.Tasks(p.pid)
		if err != nil {
			return nil, err
		}
		f := layer.Fact{Layer: layer.Limits, What: "cpus of " + p.name, Source: "/proc/PID/status", OK: true}
		for _, tid := range tids {
			st, err := readStatus(p.pid, tid)
			if gone(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			text := st["Cpus_allowed_list"]
			got, err := limits.ParseCPUs(text)
			if err != nil {
				return nil, err
			}
			if f.Value == "" || !slices.Equal(got, want) {
				f.Value = text
			}
			f.OK = f.OK && slices.Equal(got, want)
		}
		f.OK = f.OK && f.Value != ""
		out = append(out, f)
	}
	if usable, err := limits.UsableCPUs(); err == nil && len(usable) == len(want) {
		out = append(out, layer.Fact{
			Layer: layer.Limits, What: "processors left to others", Value: "none: the session may use all " + strconv.Itoa(len(want)),
			Source: "sched_getaffinity", OK: true,
		})
	}
	return out, nil
}

// gone says that a process or thread ended between two looks.
func gone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) }
