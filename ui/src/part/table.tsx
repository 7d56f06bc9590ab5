// Tables. On a narrow screen each row becomes a card, in which every cell stands beside its heading.

import type { ComponentChildren } from "preact";

/** A column: number aligns right, wrap breaks long texts. */
export interface Column {
	label: string;
	number?: boolean;
	wrap?: boolean;
	bad?: boolean;
}

/** A row. The first cell is its heading. */
export interface Row {
	key: string;
	cells: ComponentChildren[];
	chosen?: boolean;
}

/** Table draws a table in a frame that scrolls by itself. */
export function Table({ name, columns, rows }: { name: string; columns: Column[]; rows: Row[] }) {
	const kind = (c: Column) =>
		[c.number && "number", c.wrap && "wrap", c.bad && "error-text wrap"].filter(Boolean).join(" ");
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label={name}>
			<table class="cards">
				<thead>
					<tr>
						{columns.map((c) => (
							<th key={c.label} scope="col" class={c.number ? "number" : ""}>
								{c.label}
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{rows.map((r) => (
						<tr key={r.key} class={r.chosen ? "chosen" : ""}>
							{columns.map((c, i) =>
								i === 0 ? (
									<th key={c.label} scope="row" class={kind(c)}>
										{r.cells[i]}
									</th>
								) : (
									<td key={c.label} class={kind(c)} data-label={c.label}>
										{r.cells[i]}
									</td>
								),
							)}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
