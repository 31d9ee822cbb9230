import type { Driven } from '../load/drive.ts'

/** One row of the report. */
export interface Measured extends Driven {
  /** Ratio to operations of bare `node:crypto` per core, if there is an equivalent. */
  readonly toBare: number | undefined
  /** Requests of the echo for each second of processor time, just before this measurement. */
  readonly echo: number
  /** p99 at half load, and that of the echo of the same at the same rate. */
  readonly halfLoadP99Ms?: number
  readonly echoHalfLoadP99Ms?: number
}

export interface Report {
  readonly date: string
  readonly machine: string
  /** undefined: it was not measured. */
  readonly echo: Measured | undefined
  readonly rows: readonly Measured[]
  readonly notes: readonly string[]
}

/** Requests for each second of processor time that the server used. */
export function perCore(measured: Driven): number {
  return measured.requests / measured.cpuSeconds
}

/** Ratio to the echo that was measured beside it: the machine's speed drifts, and both drift alike. */
export function toEcho(measured: Measured): number {
  return perCore(measured) / measured.echo
}

export function markdown(report: Report): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const rows = [...(report.echo === undefined ? [] : [report.echo]), ...report.rows].map((row) =>
    line([
      row.name,
      Math.round(perCore(row)).toLocaleString('en'),
      toEcho(row).toFixed(2),
      row.toBare?.toFixed(2) ?? '',
      Math.round(row.requests / row.seconds).toLocaleString('en'),
      row.p50Ms.toFixed(2),
      row.p99Ms.toFixed(2),
      halfLoad(row),
      Math.round(row.residentMiB).toString(),
    ]),
  )
  return `# Performance

Measured by \`npm run bench -- --write\` on ${report.date}: ${report.machine}. The load generator has a process of its
own and checks every answer; TLS 1.3, keep-alive connections, authentication and audit (\`continue\`) are on. Machines
differ and drift: read the ratios, which come from one run.

- **a core**: requests for each second of processor time that the server used (all of its threads together)
- **to echo**: that, divided by the same of a bare \`node:https\` server which parses and returns the JSON of the
  same \`encrypt\` request, measured in turn with it (median of the rounds)
- **p99 at half load**: in milliseconds, with half of the requests/s, evenly sent; behind the slash that of the echo at
  the same rate
- **to bare**: that, divided by operations of bare \`node:crypto\` on one core

${line(['what', 'a core', 'to echo', 'to bare', 'requests/s', 'p50 ms', 'p99 ms', 'p99 at half load', 'resident MiB'])}
${line(Array.from({ length: 9 }, (_, index) => (index === 0 ? '---' : '---:')))}
${rows.join('\n')}

${report.notes.map((note) => `- ${note}`).join('\n')}
`
}

function halfLoad({ halfLoadP99Ms, echoHalfLoadP99Ms }: Measured): string {
  if (halfLoadP99Ms === undefined) return ''
  const own = halfLoadP99Ms.toFixed(2)
  return echoHalfLoadP99Ms === undefined ? own : `${own} / ${echoHalfLoadP99Ms.toFixed(2)}`
}
