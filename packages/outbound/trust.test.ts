import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { rootCertificates } from 'node:tls'

test('connections that end leave no authorities in memory', {
  skip: process.platform === 'linux' ? false : 'memory is read from /proc',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-trust-'))
  writeFileSync(join(folder, 'ca.pem'), rootCertificates[0] ?? '')
  const script = `
    import { connect } from 'node:tls'
    import { createServer } from 'node:net'
    import { readFileSync } from 'node:fs'
    import { loadTrustedAuthorities } from ${JSON.stringify(new URL('trust.ts', import.meta.url).href)}
    const resident = () => Number(/^RssAnon:\\s+(\\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const options = loadTrustedAuthorities(${JSON.stringify(join(folder, 'ca.pem'))})
    const round = async () => {
      for (let index = 0; index < 60; index += 1)
        await new Promise((resolve) =>
          connect({ host: '127.0.0.1', port: server.address().port, ...options }).on('error', () => {}).once('close', resolve))
    }
    await round()
    const before = resident()
    await round()
    process.stdout.write(String(Math.round(resident() - before)))
    process.exit(0)`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  })
  rmSync(folder, { recursive: true })
  assert.ok(stdout !== '' && Number(stdout) < 20, `${stdout} MiB after 60 connections ${stderr}`)
})
