import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Transport, transports } from 'warder/testing'
import { casesIn, isDraftCase, vectorsFolder, vectorsVariable } from './cases/vectors.ts'
import { failuresText } from './report/failures.ts'
import { conformancePage } from './report/page.ts'
import { countResults, formatTable, type WayResults } from './report/table.ts'
import { runCases } from './run/run-cases.ts'
import { connectGivenServer } from './server/given-server.ts'
import { startOwnServer } from './server/own-server.ts'

const help = `npm run conformance -- [FOLDER] [OPTIONS]

Runs OASIS KMIP test cases (XML) against a live server and compares every answer strictly: status, reason, message,
every value. Placeholders ($UNIQUE_IDENTIFIER_0, $NOW-3600) get their value at their first appearance. What
KMIP Profiles §4.1 lets a server choose may differ, nothing else.

  FOLDER               any folder of test cases, of any version; default: ${vectorsVariable}, else the public ones
                       beside the checkout
  --case TEXT          only cases whose name contains this
  --over WAY           socket (binary over TLS), https-ttlv, https-json, https-xml; may be given several times;
                       default: all four
  --own-words          result messages only have to be there, in whatever words (for servers that have others)
  --failures FILE      writes every difference there, by operation, with the messages
  --write              writes docs/reference/kmip-conformance.md

Without more, a server is started in this process with an empty database. To try another one:

  --socket HOST:PORT   its KMIP socket
  --url URL            its address for KMIP over HTTPS
  --ca F --cert F --key F    authority to trust, client certificate and key (PEM)

Exit code 0: every case passed; 1: some failed or could not be read; 2: called wrongly.`

const toTerminal = (line: string): void => void process.stdout.write(`${line}\n`)

/** Runs the command. @returns the exit code */
export async function main(args: readonly string[], print = toTerminal): Promise<number> {
  let parsed: ReturnType<typeof parse>
  try {
    parsed = parse(args)
  } catch (error) {
    print(error instanceof Error ? error.message : String(error))
    return 2
  }
  const { values, positionals } = parsed
  if (values.help) {
    print(help)
    return 0
  }
  const unknown = values.over.find((name) => !transports.some((way) => way === name))
  if (unknown !== undefined) {
    print(`--over is one of ${transports.join(', ')}, not '${unknown}'`)
    return 2
  }
  const folder = positionals[0] ?? vectorsFolder(process.env)
  const cases = casesIn(folder).filter(({ name }) => name.includes(values.case))
  if (cases.length === 0) {
    print(`there are no test cases in ${folder}; name a folder, or set ${vectorsVariable}`)
    return 2
  }
  const isGiven = values.socket !== undefined || values.url !== undefined
  const draft = cases.some(isDraftCase)
  const all: WayResults[] = []
  for (const way of values.over as readonly Transport[]) {
    // A server for each way: names of groups are taken once (BL-M-21-30).
    await using server = isGiven ? connectGivenServer(values) : await startOwnServer({ draft })
    all.push({ way, results: await runCases(cases, server, way, { ownWords: values['own-words'] }) })
  }
  for (const line of formatTable(all)) print(line)
  if (values.failures !== undefined) writeFileSync(values.failures, failuresText(all))
  if (values.write) {
    writeFileSync(
      fileURLToPath(new URL('../docs/reference/kmip-conformance.md', import.meta.url)),
      conformancePage(all),
    )
  }
  const counts = all.map(({ results }) => countResults(results))
  return counts.every(({ failed, skipped }) => failed === 0 && skipped === 0) ? 0 : 1
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', default: false },
      case: { type: 'string', default: '' },
      over: { type: 'string', multiple: true, default: [...transports] },
      'own-words': { type: 'boolean', default: false },
      failures: { type: 'string' },
      write: { type: 'boolean', default: false },
      socket: { type: 'string' },
      url: { type: 'string' },
      ca: { type: 'string' },
      cert: { type: 'string' },
      key: { type: 'string' },
    },
  })
}
