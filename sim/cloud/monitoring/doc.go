// Package monitoring models CloudWatch: values that are published and read, expressions over them, and alarms.
//
// [CloudWatch] has a method for each action of the API. Other services of the model publish with [CloudWatch.Publish];
// a scaling policy makes an [Alarm] and says with [Alarm.OnAlarm] what it does. What state follows from which points is
// the business of package awsrules/alarm, and the language of expressions that of package metricmath.
package monitoring
