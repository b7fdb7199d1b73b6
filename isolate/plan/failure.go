package plan

import (
	"errors"
	"syscall"

	"fumehood/isolate/layer"
)

// Fail makes a Failure from what a step returned.
func Fail(err error) *Failure {
	f := &Failure{Layer: layer.Namespaces, Op: "stage", Text: err.Error()}
	var le *layer.Error
	if errors.As(err, &le) {
		f.Layer, f.Op, f.Text, f.Hint = le.Layer, le.Op, le.Err.Error(), le.Hint
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno = int(errno)
	}
	return f
}

// Err is the layer.Error that the stage met, with its errno where it had one.
func (f *Failure) Err() *layer.Error {
	err := error(reported{text: f.Text, errno: syscall.Errno(f.Errno)})
	if f.Errno != 0 && f.Text == syscall.Errno(f.Errno).Error() {
		err = syscall.Errno(f.Errno)
	}
	return &layer.Error{Layer: f.Layer, Op: f.Op, Err: err, Hint: f.Hint}
}

// reported is an error as told by another process.
type reported struct {
	text  string
	errno syscall.Errno
}

func (r reported) Error() string { return r.text }

func (r reported) Unwrap() error {
	if r.errno == 0 {
		return nil
	}
	return r.errno
}
