package main

import (
	"fmt"
	"io"

	"fumehood/isolate/confine"
)

// confinement is what a command gives up before it interprets a file from
// elsewhere.
type confinement struct {
	keep  confine.Keep
	said  io.Writer // where it is said what the kernel lacks
	lacks string
}

// close confines this process, without a way back.
func (c *confinement) close() (err error) {
	if c.lacks, err = confine.Process(c.keep); c.lacks != "" && err == nil {
		fmt.Fprintf(c.said, "fumehood: note: %s\n", c.lacks)
	}
	return err
}
