// Runs every test: `npm test`, or `npm test -- PATTERN …` for the files whose path contains one of the patterns.
// `npm test -- --quick` runs the files that start no service and no process, and use no PostgreSQL. Files that start whole
// installations (full disks, kills, two versions, programs of other projects such as certbot) are a suite that runs last.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { findSuite, groupTests, listModules, usesPostgres } from './test-groups.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const isQuick = process.argv.includes('--quick')
const patterns = process.argv.slice(2).filter((argument) => argument !== '--quick')
const found = ['packages', 'bench', 'conformance', 'scripts']
  .filter((folder) => existsSync(join(root, folder)))
  .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && /\.test\.ts$/.test(entry.name))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  .filter((file) => !file.includes('node_modules'))
  .filter((file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)))
  .map((file) => ({ file, source: readFileSync(join(root, file), 'utf8') }))

if (found.length === 0) {
  process.stderr.write(`no test file matches ${patterns.join(' ')}\n`)
  process.exit(1)
}

/** The longest first, so that none of them is left over when all others are done: they use PostgreSQL or start services. */
const order = ['services', 'quick', 'installations']
const rank = (file) => (usesPostgres(file) ? 0 : 1) + 2 * order.indexOf(file.suite)
const files = found
  .map((file) => ({ ...file, suite: findSuite(file) }))
  .filter(({ suite }) => !isQuick || suite === 'quick')
  .sort((a, b) => rank(a) - rank(b) || (a.file < b.file ? -1 : 1))
const has = (suite) => files.some((file) => file.suite === suite)

process.chdir(root)
// Services that tests start serve it.
if (!isQuick) await (await import('../packages/console/build.ts')).buildConsole()
process.env.NODE_COMPILE_CACHE = join(root, 'node_modules', '.compile-cache')
// So that an interrupted run ends the processes that it started.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))

// They start a bundle that is made once for all of them: a start from the sources takes twice as long.
if (has('installations') && process.env.WARDER_FROM_SOURCES !== '1') {
  const { bundleOfCheckout } = await import('./bundle/checkout.ts')
  process.env.WARDER_TEST_PROGRAM = join(await bundleOfCheckout(), 'bin', 'warder.mjs')
}

// The shipped product, if WARDER_ARTIFACTS is the folder of `npm run package`: the command of its tarball, with its own
// Node.
const installed = await unpackTarball()
if (installed !== undefined) {
  process.env.WARDER_TEST_COMMAND = join(installed, 'bin', 'warder')
  process.once('exit', () => rmSync(installed, { recursive: true, force: true }))
}

// One PostgreSQL for all tests that do not stop it; if there is none, each test reports that itself.
const postgres = files.some(usesPostgres) ? await startPostgres() : undefined
if (postgres !== undefined) Object.assign(process.env, postgres.environment)

const counts = { passed: 0, failed: 0, skipped: 0 }
await runSuite(files.filter(({ suite }) => suite !== 'installations'))
const installations = files.filter(({ suite }) => suite === 'installations')
if (installations.length > 0) {
  process.stdout.write(`\nWhole installations: ${installations.length} files\n\n`)
  await runSuite(installations)
}
await postgres?.stop()

process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1)

async function runSuite(suite) {
  if (suite.length === 0) return
  const { modules, remove } = listModules(groupTests(suite), root)
  process.once('exit', remove)
  const tests = run({
    files: modules,
    // Two more than there are cores: most files wait half of their time for a service that they started, or for a clock.
    concurrency: availableParallelism() + 2,
    timeout: 600_000,
    // A test that never ends is named, and the tests behind it run.
    execArgv: ['--test-timeout=500000', '--import', new URL('fixed-seed.mjs', import.meta.url).href],
  })
  tests.on('test:summary', ({ file, counts: all }) => {
    if (file !== undefined) return
    counts.passed += all.passed
    counts.skipped += all.skipped
    counts.failed += all.tests - all.passed - all.skipped - all.todo
  })
  const output = tests.compose(spec())
  output.pipe(process.stdout, { end: false })
  await new Promise((resolve) => output.once('end', resolve))
}

async function unpackTarball() {
  if (process.env.WARDER_ARTIFACTS === undefined) return undefined
  const { artifact } = await import('../conformance/package/built.ts')
  const found = artifact(`-linux-${process.arch}.tar.gz`)
  if ('missing' in found) throw new Error(`WARDER_ARTIFACTS: ${found.missing}`)
  const { extract } = await import('tar')
  const folder = mkdtempSync(join(tmpdir(), 'warder-shipped-'))
  await extract({ file: found.file, cwd: folder, strip: 1 })
  return folder
}

async function startPostgres() {
  const { startTestPostgres } = await import('@warder/storage/testing')
  const started = await startTestPostgres()
  return 'missing' in started ? undefined : started
}
