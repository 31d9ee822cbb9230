// Runs every test: `npm test`, or `npm test -- PATTERN …` for the files whose path contains one of the patterns.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const patterns = process.argv.slice(2)
const files = ['packages', 'bench', 'conformance', 'scripts']
  .filter((folder) => existsSync(join(root, folder)))
  .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && /\.test\.ts$/.test(entry.name))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  .filter((file) => !file.includes('node_modules'))
  .filter((file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)))
  .sort()

if (files.length === 0) {
  process.stderr.write(`no test file matches ${patterns.join(' ')}\n`)
  process.exit(1)
}

const counts = { pass: 0, fail: 0, skipped: 0 }
const child = spawn(
  process.execPath,
  [
    '--test',
    `--test-concurrency=${Math.max(2, availableParallelism())}`,
    '--test-timeout=180000',
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    ...files,
  ],
  {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, 'node_modules', '.compile-cache') },
  },
)
child.stdout.setEncoding('utf8')
child.stdout.on('data', (text) => {
  process.stdout.write(text)
  for (const [, name, number] of text.matchAll(/^ℹ (pass|fail|skipped) (\d+)$/gm))
    counts[name] = Number(number)
})
child.on('close', (code) => {
  const failed = Math.max(counts.fail, code === 0 ? 0 : 1)
  process.stdout.write(`\n${counts.pass} passed, ${failed} failed, ${counts.skipped} skipped\n`)
  process.exit(failed === 0 ? 0 : 1)
})
