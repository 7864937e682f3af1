package main

import (
	_ "embed"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
)

//go:embed contextd.service
var service string

//go:embed contextd.socket
var socket string

//go:embed port.conf
var port string

// newSystemd makes the command that prints units.
func newSystemd() *cobra.Command {
	c := &cobra.Command{Use: "systemd", Short: "Print units for systemd"}
	print := &cobra.Command{
		Use: "print [service|socket|port]", Short: "Print a unit",
		Args: cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs), ValidArgs: []string{"service", "socket", "port"},
		Long: "Print a unit: the service, which runs as user contextd with minimal rights; the socket, with which systemd\n" +
			"listens in place of the daemon, so no caller is turned away during a restart; or a drop-in that lets the service\n" +
			"listen on ports below 1024.",
		Example: "  contextd systemd print > /etc/systemd/system/contextd.service\n" +
			"  contextd systemd print socket > /etc/systemd/system/contextd.socket\n" +
			"  contextd systemd print port > /etc/systemd/system/contextd.service.d/port.conf",
		RunE: func(c *cobra.Command, args []string) error {
			text := service
			if len(args) > 0 {
				text = map[string]string{"service": service, "socket": socket, "port": port}[args[0]]
			}
			_, err := fmt.Fprint(c.OutOrStdout(), text)
			return err
		},
	}
	cli.Group(c, print)
	return c
}
