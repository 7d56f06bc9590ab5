// Package opening makes of a configured fleet what its control loop needs: settings and ports.
//
//	settings, err := opening.Settings(fleet)
//	ports, err := members.Open(ctx, host, fleet, nil)
//	options, err := opening.Loop(ctx, table, host, fleet, settings, ports)
//
// It takes the table of kinds as an argument. So muster up and the Lambda functions, which are linked with fewer kinds,
// open a fleet by the same code. Nothing here runs a fleet: that is package app for a whole configuration, and package
// controller/loop for one fleet.
package opening
