import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readEndpoints } from '@warder/command-line/endpoints'
import { httpsClient } from '@warder/command-line/https-client'
import { cleanEnvironment, temporaryHome } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

const entry = fileURLToPath(new URL('../bin/warder.mjs', import.meta.url))
const isLinux = process.platform === 'linux'

/** A pipe that takes nothing more. @returns descriptor for a writer that would wait */
function fullPipe(path: string): { readonly writer: number; close(): void } {
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  for (const size of [4096, 1]) {
    try {
      for (;;) writeSync(reader, Buffer.alloc(size))
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
    }
  }
  const writer = openSync(path, constants.O_WRONLY)
  return {
    writer,
    close() {
      closeSync(writer)
      closeSync(reader)
    },
  }
}

test('an installation starts, serves and stops though its output is not read and its log has no room', {
  skip: !isLinux && 'pipes are opened again only on Linux',
}, async () => {
  const home = temporaryHome()
  const pipe = fullPipe(`${home}.pipe`)
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [entry, 'start', '--home', home], {
    env: cleanEnvironment({}),
    stdio: ['ignore', pipe.writer, full],
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  try {
    await until('it serves', () => existsSync(join(home, 'endpoints.json')))
    const { auth, kms } = readEndpoints(home)
    for (const { url } of [auth, kms]) {
      const client = httpsClient(url, join(home, 'tls', 'ca.crt'))
      // Each says in the log that it read its certificates again.
      for (let round = 0; round < 3; round += 1) {
        child.kill('SIGHUP')
        const { status } = await client.ask('/health')
        assert.equal(status, 200)
      }
      client.close()
    }
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
  } finally {
    child.kill('SIGKILL')
    pipe.close()
    closeSync(full)
    rmSync(`${home}.pipe`)
    rmSync(home, { recursive: true, force: true })
  }
})
