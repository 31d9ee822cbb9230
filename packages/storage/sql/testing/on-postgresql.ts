import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { run, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { startTestPostgres } from './postgres.ts'

/** `WARDER_TEST_DATABASE=postgresql`: services of tests that bring no database start on PostgreSQL. */
export const isTestedOnPostgresql = process.env.WARDER_TEST_DATABASE === 'postgresql'

/** Result of one test of the process that runs the files. */
interface Result {
  readonly title: string
  /** The reason, or true. */
  readonly skip?: string | boolean
  readonly error?: string
}

const mark = '@test-result '
const timeoutMs = 1_200_000

/**
 * Runs test files, which by themselves run on SQLite, on PostgreSQL. Each of their tests is declared here with its
 * result, under its title followed by "on PostgreSQL". All files share one process, which loads the services once.
 * @param folder to which the paths are relative
 * @param files without `.test.ts`
 */
export async function runOnPostgresql(folder: string, files: readonly string[]): Promise<void> {
  const paths = files.map((file) => join(folder, `${file}.test.ts`))
  // Also checked without PostgreSQL.
  for (const path of paths) assert.ok(existsSync(path), `there is no ${path}`)
  const server = await startTestPostgres()
  if ('missing' in server) {
    for (const file of files) test(`${file} on PostgreSQL`, { skip: server.missing }, () => undefined)
    return
  }
  const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith('NODE_TEST'))
  const env = {
    ...Object.fromEntries(inherited),
    ...server.environment,
    WARDER_TEST_DATABASE: 'postgresql',
  }
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ...paths], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  let output = ''
  const keep = (text: string): void => {
    output = (output + text).slice(-20_000)
  }
  child.stderr.on('data', (text: Buffer) => keep(text.toString()))
  const results: Result[] = []
  for await (const line of createInterface({ input: child.stdout }))
    if (line.startsWith(mark)) results.push(JSON.parse(line.slice(mark.length)) as Result)
    else keep(`${line}\n`)
  const code = await ended
  await server.stop()
  for (const { title, skip = false, error } of results)
    test(`${title} on PostgreSQL`, { skip }, () => {
      if (error !== undefined) throw new Error(error)
    })
  if (results.length === 0 || (code !== 0 && results.every(({ error }) => error === undefined)))
    test(`all tests of ${files.join(', ')} run on PostgreSQL`, () =>
      assert.fail(`the process ended with ${code} after ${results.length} tests\n${output}`))
}

/** The process that runs the files: it writes a line for each test. */
async function runFiles(files: readonly string[]): Promise<void> {
  const titles: string[] = []
  const write = (result: Result): void => void process.stdout.write(`\n${mark}${JSON.stringify(result)}\n`)
  let failed = false
  for await (const { type, data } of run({ files: [...files], isolation: 'none', timeout: timeoutMs })) {
    if (type === 'test:start') titles.splice(data.nesting, titles.length, data.name)
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const { name, nesting, details, skip } = data
    const title = [...titles.slice(0, nesting), name].join(' > ')
    if (type === 'test:fail') {
      failed = true
      const { error } = data.details
      write({ title, error: inspect(error.cause ?? error, { depth: 5 }) })
    } else if (details.type !== 'suite') write({ title, ...(skip !== undefined && { skip }) })
  }
  process.exitCode = failed ? 1 : 0
}

// Not awaited: the files import this module, too.
if (import.meta.main) void runFiles(process.argv.slice(2))
