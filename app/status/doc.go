// Package status prints how the fleets of a running Muster are ([Print]), as muster status does, and the lines about a
// fleet that an explanation shows, too. It computes nothing: what it prints is what the API answered, [server.Status].
package status
