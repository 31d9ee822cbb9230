import { tolerances } from '@warder/kmip-codec/testing'
import type { ClientReport, ClientRun } from './client-run.ts'

/** docs/reference/clients.md. */
export function clientsPage(runs: readonly ClientRun[]): string {
  const reports = runs.filter((run): run is ClientReport => !('missing' in run))
  const missing = runs.flatMap((run) => ('missing' in run ? [`- ${run.missing}`] : []))
  return `# Clients of others

Programs that were not written here, run unmodified against a live server. Written by \`npm run clients\`, which installs
what is missing into temporary folders (npm, pip, Go, apt). How each is driven: \`conformance/clients\`.

| client | version | way | passed | failed |
|---|---|---|---|---|
${reports.map(formatRow).join('\n')}
${missing.length === 0 ? '' : `\nNot run, since they were not to be had:\n\n${missing.join('\n')}\n`}
## What does not pass

${failures(reports)}

## What was run

${[...Map.groupBy(reports, formatName)].map(([name, some]) => `- **${name}**: ${ran(some)}`).join('\n')}

## What is done otherwise than the standard says

One table in the code (\`packages/kmip-codec/json/tolerances.ts\`); [the decision](../adr/client-tolerances.md)
gives the rules.

| what | where | client | why it is safe |
|---|---|---|---|
${tolerances.map(({ what, where, client, safe }) => `| ${what} | ${where} | ${client} | ${safe} |`).join('\n')}
`
}

function formatName({ client, version }: ClientReport): string {
  return `${client} ${version}`
}

function formatRow({ client, version, way, steps }: ClientReport): string {
  const passed = steps.filter((step) => step.passed).length
  return `| ${client} | ${version} | ${way} | ${passed} | ${steps.length - passed} |`
}

function failures(reports: readonly ClientReport[]): string {
  const rows = reports.flatMap((report) =>
    report.steps
      .filter(({ passed }) => !passed)
      .map(({ step, why = '' }) => `| ${formatName(report)} | ${step} | ${plain(why)} |`),
  )
  if (rows.length === 0) return 'Nothing.'
  return `| client | step | why |\n|---|---|---|\n${rows.join('\n')}`
}

/** One line without characters that would end a cell. */
function plain(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 300)
}

function ran(reports: readonly ClientReport[]): string {
  return [...new Set(reports.flatMap(({ steps }) => steps.map(({ step }) => step)))].join('; ')
}
