// Package fakeaws serves the AWS world of package sim/cloud over the wire protocols that the real SDKs speak, so that a
// program written for AWS can be tested against its behaviour, with hours passing in milliseconds.
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
// One server answers for all services: a request says which it is for in the scope of its signature. It speaks Query
// and XML for EC2 Auto Scaling; AWS JSON 1.1 for ECS and Application Auto Scaling; AWS JSON 1.0 for SQS; and for
// CloudWatch Smithy RPC v2 CBOR, AWS JSON 1.0 and Query, whichever the client sends. It wants a signature to be there
// and to be for the world's region, and does not verify it: that is what the sqsapi package does. Actions that AWS has
// and the model does not are refused as AWS refuses unknown ones, with a message that says so; members that the model
// does not have are ignored, as AWS ignores unknown ones, and [Server.Unmodelled] lists them.
//
// The world has counts of queues and no messages; [Server.Messages] lets the embedded queue hold some.
//
// Time stands still between the calls of [Server.Advance] and [Server.Until], unless the server follows a clock.
package fakeaws
