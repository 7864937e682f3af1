package main

import (
	_ "embed"
	"fmt"

	"github.com/spf13/cobra"
)

//go:embed contextd.service
var service string

//go:embed contextd.socket
var socket string

//go:embed port.conf
var port string

// newSystemd makes the command that prints units.
func newSystemd() *cobra.Command {
	return &cobra.Command{
		Use: "systemd [service|socket|port]", Short: "Print a unit for systemd",
		Args: cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs), ValidArgs: []string{"service", "socket", "port"},
		Long: "Print a unit: the service, which runs as user contextd with minimal rights; the socket, with which systemd\n" +
			"listens in place of the daemon, so no caller is turned away during a restart; or a drop-in that lets the service\n" +
			"listen on ports below 1024.",
		Example: "  contextd print systemd > /etc/systemd/system/contextd.service\n" +
			"  contextd print systemd socket > /etc/systemd/system/contextd.socket\n" +
			"  contextd print systemd port > /etc/systemd/system/contextd.service.d/port.conf",
		RunE: func(c *cobra.Command, args []string) error {
			text := service
			if len(args) > 0 {
				text = map[string]string{"service": service, "socket": socket, "port": port}[args[0]]
			}
			_, err := fmt.Fprint(c.OutOrStdout(), text)
			return err
		},
	}
}
