// Package fakeaws serves the AWS world of package sim/cloud over the wire protocols that the real SDKs speak, so that
// a program written for AWS can be tested against its behaviour, with hours passing in milliseconds.
//
//	world := model.New(model.Settings{Start: start, Seed: 1})
//	server := fakeaws.New(world)
//	web := httptest.NewServer(server)
//	defer web.Close()
//	client := autoscaling.New(autoscaling.Options{
//		BaseEndpoint: &web.URL, Region: world.Region(),
//		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
//	})
//	client.SetDesiredCapacity(ctx, ...)
//	server.Advance(2 * time.Minute) // instances boot
//	server.Do(func(w *model.World) { w.InterruptSpot(id) })
//
// One [Server] answers for all services: the scope of a request's signature names the service. The protocols are
//
//   - Query and XML for EC2 Auto Scaling;
//   - AWS JSON 1.1 for ECS and Application Auto Scaling, AWS JSON 1.0 for SQS;
//   - Smithy RPC v2 CBOR, AWS JSON 1.0 or Query for CloudWatch, whichever the client sends.
//
// A request passes these steps, each in a file of its own:
//
//	server.go   signature scope -> service; limits, rates and injected troubles of the world
//	wires.go    bytes -> action and members (a tree), and results or faults -> bytes
//	tree.go     tree -> input of the model by reflection; result of the model -> members
//	actions.go  the table of actions: one method of the model each
//	messages.go SQS with real messages, behind the same endpoint
//
// A request must have a signature for the world's region. The signature itself is not verified: package sqsapi does
// that. Actions that the model does not have are refused as AWS refuses unknown actions, and the message says so.
// Members that it does not have are ignored, as AWS ignores unknown members; [Server.Unmodelled] lists them, and a
// test should check that list. No behaviour of AWS belongs into this package: it goes into package sim/cloud.
//
// The world has counts of queues and no messages; [Server.Messages] connects the embedded queue for those.
//
// Time stands still between the calls of [Server.Advance] and [Server.Until], unless the server follows a clock.
package fakeaws
