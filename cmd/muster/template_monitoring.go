package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/deploy/alerts"
	"github.com/muster-scale/muster/deploy/dashboard"
)

// newTemplateDashboard makes muster template dashboard.
func newTemplateDashboard(g *global) *cobra.Command {
	var grafana, cloudWatch bool
	region := ""
	cmd := &cobra.Command{
		Use:   "dashboard --grafana|--cloudwatch [-f FILE]",
		Short: "Print a dashboard of fleets for Grafana or CloudWatch",
		Long: `Dashboard prints a dashboard of queue, workers, objective and cost. For Grafana it is the JSON to import, over any
Prometheus that scrapes muster up; without a configuration it shows all fleets. For CloudWatch it is the body for
aws cloudwatch put-dashboard, and needs the configuration. docs/monitoring.md explains the figures.`,
		Example: "  muster template dashboard --grafana >muster.json\n" +
			"  muster template dashboard --cloudwatch -f muster.yaml >body.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneTarget(cmd, "grafana", grafana, cloudWatch); err != nil {
				return err
			}
			c, names, err := g.monitored("template dashboard", cloudWatch)
			if err != nil {
				return err
			}
			if grafana {
				return printJSON(cmd.OutOrStdout(), dashboard.Grafana(names))
			}
			d, err := dashboard.CloudWatch(c, region)
			if err != nil {
				return usage(fmt.Errorf("template dashboard: %w", err))
			}
			return printJSON(cmd.OutOrStdout(), d)
		},
	}
	cmd.Flags().BoolVar(&grafana, "grafana", false, "for Grafana")
	cmd.Flags().BoolVar(&cloudWatch, "cloudwatch", false, "for CloudWatch")
	cmd.Flags().StringVar(&region, "region", "", "for CloudWatch: the region of fleets that name none")
	return cmd
}

// newTemplateAlerts makes muster template alerts.
func newTemplateAlerts(g *global) *cobra.Command {
	var prometheus, cloudWatch bool
	cmd := &cobra.Command{
		Use:   "alerts --prometheus|--cloudwatch [-f FILE]",
		Short: "Print alert rules for Prometheus, or alarms for CloudWatch",
		Long: `Alerts prints rules for the latency objective (burn rates over two windows) and for what endangers it. For
Prometheus it is a rule file; without a configuration its rules are for all fleets. For CloudWatch it is a CloudFormation
template, and needs the configuration. docs/monitoring.md explains each alert and what to do.`,
		Example: "  muster template alerts --prometheus >/etc/prometheus/rules/muster.yml\n" +
			"  muster template alerts --cloudwatch -f muster.yaml >alarms.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneTarget(cmd, "prometheus", prometheus, cloudWatch); err != nil {
				return err
			}
			c, names, err := g.monitored("template alerts", cloudWatch)
			if err != nil {
				return err
			}
			if prometheus {
				_, err := io.WriteString(cmd.OutOrStdout(), alerts.Prometheus(names))
				return err
			}
			t, err := alerts.CloudWatch(c)
			if err != nil {
				return usage(fmt.Errorf("template alerts: %w", err))
			}
			return printJSON(cmd.OutOrStdout(), t)
		},
	}
	cmd.Flags().BoolVar(&prometheus, "prometheus", false, "for Prometheus, in YAML with either -o")
	cmd.Flags().BoolVar(&cloudWatch, "cloudwatch", false, "for CloudWatch")
	return cmd
}

// oneTarget returns a usage error unless exactly one of the two systems is chosen.
func oneTarget(cmd *cobra.Command, first string, a, b bool) error {
	if a != b {
		return nil
	}
	return usage(fmt.Errorf("%s: found %d systems, allowed is one: --%s or --cloudwatch", cmd.CommandPath(),
		map[bool]int{true: 2}[a], first))
}

// monitored loads the configuration, and returns the names of its fleets: none without a file, which stands for all
// fleets. With need, a missing file is an error.
func (g *global) monitored(command string, need bool) (*config.Config, []string, error) {
	if need {
		if _, err := g.needFile(command); err != nil {
			return nil, nil, err
		}
	}
	c, err := g.load()
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, f := range c.Fleets {
		names = append(names, f.Name)
	}
	return c, names, nil
}
