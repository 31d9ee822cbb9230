import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from './testing/installation.ts'

const entry = fileURLToPath(new URL('./bin/warder.mjs', import.meta.url))

/** Runs `warder WORDS` with its output redirected as a shell does. */
function run(words: string, redirection: string) {
  const script = `"$0" "$1" ${words} ${redirection}`
  const { status, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', script, process.execPath, entry], {
    env: cleanEnvironment({}),
    encoding: 'utf8',
  })
  return { status, stderr }
}

const commands = ['--help', 'config print kms', 'keys --help']

test('who has read enough closes the pipe, which is no failure', () => {
  for (const words of commands) {
    assert.deepEqual(run(words, '| head -c1 >/dev/null'), { status: 0, stderr: '' }, words)
    assert.deepEqual(run(words, '| true'), { status: 0, stderr: '' }, words)
  }
})

test('output that is not taken is told in one line, with code 1', { skip: !existsSync('/dev/full') }, () => {
  for (const words of commands) {
    const { status, stderr } = run(words, '> /dev/full')
    assert.equal(status, 1, words)
    const told = stderr.split('\n').filter((line) => line.startsWith('warder'))
    assert.deepEqual(told.length, 1, stderr)
    assert.match(told[0] ?? '', /^warder: the output cannot be written: .*no space left on device/)
    assert.doesNotMatch(stderr, /\n {4}at /, 'no stack trace for a person')
  }
})
