package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"fumehood/isolate/doctor"
)

func doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this kernel and account offer, wall by wall, and what is missing",
		Long:  "Tries each thing that the walls are made of, for real, in throw-away processes. Exit status 1: something\nrequired is missing, and no session would start.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := host()
			if err != nil {
				return err
			}
			checks := doctor.Report(doctor.Probe(cmd.Context(), filepath.Dir(string(h.Root))))
			w := cmd.OutOrStdout()
			if asJSON {
				if err := printJSON(w, struct {
					Checks []doctor.Check `json:"checks"`
				}{checks}); err != nil {
					return err
				}
			} else {
				for _, c := range checks {
					mark := "ok  "
					if !c.OK {
						mark = "MISS"
					}
					fmt.Fprintf(w, "%s  %-28s %s\n", mark, c.Name, visible(c.Detail))
					if c.Costs != "" {
						fmt.Fprintf(w, "      costs: %s\n", visible(c.Costs))
					}
					if c.Remedy != "" {
						fmt.Fprintf(w, "      do:    %s\n", visible(c.Remedy))
					}
				}
			}
			if doctor.Bad(checks) {
				return &exitError{code: exitConflict}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
