import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { startAuth } from './testing/start.ts'

const guide = readFileSync(new URL('../../docs/start/auth.md', import.meta.url), 'utf8')
const hasShell = spawnSync('sh', ['-c', 'command -v curl && command -v sed']).status === 0

function run(script: string, env: Record<string, string>): Promise<{ status: number | null; text: string }> {
  return new Promise((resolve) => {
    const shell = spawn('sh', ['-eu'], { env: { ...process.env, ...env } })
    let text = ''
    shell.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    shell.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    shell.on('close', (status) => resolve({ status, text }))
    shell.stdin.end(script)
  })
}

it('the commands of the guide work, in their order', {
  skip: hasShell ? false : 'no sh, curl or sed',
}, async () => {
  await using auth = await startAuth()
  const blocks = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')
  const [first = '', ...rest] = blocks
  assert.match(first, /^AUTH=/)
  assert.ok(rest.length >= 9)
  const ca = join(auth.home, 'ca.crt')
  writeFileSync(ca, auth.authority.certificatePem)
  const { status, text } = await run(rest.join('\n'), {
    AUTH: `https://127.0.0.1:${auth.port}`,
    CA: ca,
    PASSWORD: auth.adminPassword,
    no_proxy: '127.0.0.1',
  })
  assert.equal(status, 0, text)
  for (const expected of [
    '"sub":"admin"',
    '"next_step":"ChangePassword"',
    '"branch":"Lyon"',
    '"roles":["seller"]',
    '"otpauth_url":"otpauth://totp/The%20shop:ann?',
    '"certificate":"ey',
    '"entity_id":"till"',
  ]) {
    assert.ok(text.includes(expected), `${expected} in ${text}`)
  }
})
