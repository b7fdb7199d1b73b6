package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fumehood/session"
	"fumehood/session/store"
)

// noteGoneOn says on stderr that a snapshot is not the newest state.
func noteGoneOn(cmd *cobra.Command, h *session.Host, d store.Dir, r *session.Review) {
	gone, err := h.GoneOn(cmd.Context(), d, r.Set.SnapshotAt)
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "fumehood: whether the session has gone on since this snapshot is not known: %s\n", visible(err.Error()))
	case gone:
		fmt.Fprintf(os.Stderr, "fumehood: note: the session has gone on since this snapshot, which was taken %s ago; without --last a fresh one is taken\n", ago(r.Set.SnapshotAt, time.Now()))
	}
}
