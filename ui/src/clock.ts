// The clock of the server, as far as the page knows it.

/**
 * Clock tells the time of the server from the times in its answers: the clocks of browser and server may differ. The
 * time goes on between answers, because the stream says nothing while nothing changes, which may be for hours.
 */
export class Clock {
	private at = "";
	private ahead = Number.NEGATIVE_INFINITY;

	/**
	 * now is the server's time in milliseconds. at is the time of the last answer, here the browser's time. A stream
	 * sends old answers again, and no answer comes early: so the latest clock is the true one.
	 */
	now(at: string | undefined, here: number): number {
		if (at && at !== this.at) {
			this.at = at;
			this.ahead = Math.max(this.ahead, Date.parse(at) - here);
		}
		return Number.isFinite(this.ahead) ? here + this.ahead : here;
	}
}
