// Package status prints the state of the fleets of a running Muster ([Print]), as muster status does, and the lines
// about a fleet that explanations share. It computes nothing: it prints the answer of the API, [server.Status].
package status
