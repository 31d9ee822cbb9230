import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { systemClock } from '@warder/base'
import { startSmtpServer } from '@warder/runtime/testing'
import { ensureLocalAuthority } from '@warder/server'
import { readCommands, runCommands } from '../testing/guide.ts'
import { type Installation, runWarder, startInstallation } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

// A whole Warder with a mail server and a webhook, as docs/how-to/notices.md describes it.

const secret = 'a secret of more than thirty-two characters'
const folder = mkdtempSync(join(tmpdir(), 'warder-notices-'))
let smtp: Awaited<ReturnType<typeof startSmtpServer>>
let webhook: ReturnType<typeof createServer>
let warder: Installation
const posted: { readonly body: string; readonly signature: string; readonly id: string }[] = []
/** Statuses of the next replies of the webhook; then 204. */
const statuses: number[] = []

before(async () => {
  const place = join(folder, 'receivers')
  const certificates = [{ name: 'receiver', commonName: 'receiver' }]
  await ensureLocalAuthority({ folder: place, clock: systemClock, certificates })
  const [cert, key] = ['crt', 'key'].map((end) => readFileSync(join(place, `receiver.${end}`), 'utf8'))
  assert.ok(cert && key)
  smtp = await startSmtpServer({ cert, key, tls: 'starttls' })
  webhook = createServer({ cert, key }, async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    const { 'warder-signature': signature, 'warder-notice-id': id } = request.headers
    posted.push({ body, signature: String(signature), id: String(id) })
    response.writeHead(statuses.shift() ?? 204).end()
  })
  await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve))
  writeFileSync(join(folder, 'password'), 'tree house\n', { mode: 0o600 })
  warder = await startInstallation({ env: settings({}) })
})
after(async () => {
  await warder?.stop()
  webhook?.closeAllConnections()
  webhook?.close()
  await smtp?.close()
  rmSync(folder, { recursive: true, force: true })
})

function settings(more: Readonly<Record<string, string>>) {
  const { port } = webhook.address() as AddressInfo
  const ca = join(folder, 'receivers', 'ca.crt')
  return {
    WARDER_HOME: warder?.home ?? '',
    KMS_NOTICES: 'key.destruction=webhook,email',
    KMS_NOTICE_FROM: 'warder@example.com',
    KMS_NOTICE_TO: 'security@example.com',
    KMS_SMTP_HOST: 'localhost',
    KMS_SMTP_PORT: String(smtp.port),
    KMS_SMTP_CA_FILE: ca,
    KMS_SMTP_USERNAME: 'warder',
    KMS_SMTP_PASSWORD_FILE: join(folder, 'password'),
    KMS_APPROVALS_WEBHOOK_URL: `https://localhost:${port}/notices`,
    KMS_APPROVALS_WEBHOOK_SECRET: secret,
    KMS_OUTBOUND_ALLOW_PRIVATE_NETWORKS: 'true',
    KMS_OUTBOUND_CA_FILE: ca,
    KMS_PENDING_DESTRUCTION_DAYS: '7',
    ...more,
  }
}

test('the commands of the page on notices work, and show what the receivers replied', async () => {
  const { status, text } = await runCommands(readCommands('docs/how-to/notices.md'), folder, settings({}))
  assert.equal(status, 0, text)
  assert.match(text, /^webhook +delivered +HTTP 204$/m)
  assert.match(text, /^email +delivered +250 2\.0\.0 queued as 7F3A$/m)
  assert.match(smtp.mails[0]?.data ?? '', /^Subject: Warder kms on \S+: this is a test\r$/m)
  assert.deepEqual(smtp.mails[0]?.login, ['warder', 'tree house'])
  const { body = '', signature = '' } = posted[0] ?? {}
  const [, seconds = '', mac] = /^t=(\d+),v1=(.*)$/.exec(signature) ?? []
  assert.equal(mac, createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'))
})

test('a receiver that refuses is shown with its reply, and the exit code is 1', async () => {
  writeFileSync(join(folder, 'password'), 'wrong\n')
  statuses.push(500)
  const { code, out } = await runWarder(['notify', 'test', '--home', warder.home], settings({}))
  assert.equal(code, 1, out)
  assert.match(out, /^webhook +failed +HTTP 500$/m)
  assert.match(out, /^email +failed +535 5\.7\.8 authentication failed$/m)
  writeFileSync(join(folder, 'password'), 'tree house\n')
})

test('a kind and a receiver that do not exist are refused by name at a check of the settings', async () => {
  for (const [changes, message] of [
    [{ KMS_NOTICES: 'aproval.asked=email' }, /"aproval\.asked" is not a kind of notice/],
    [{ KMS_NOTICES: 'approval.asked=fax' }, /"fax" is not a receiver/],
    [{ KMS_SMTP_TLS: 'none', KMS_SMTP_HOST: 'mail.example' }, /smtp_tls = "none" is permitted only/],
    [{ KMS_NOTICE_TO: 'a@example.com\nBcc: b@example.com' }, /NOTICE_TO must be an address/],
    [{ KMS_SMTP_PASSWORD_FILE: join(folder, 'missing') }, /smtp_password_file/],
  ] as const) {
    const { code, err } = await runWarder(['config', 'check', '--home', warder.home], settings(changes))
    assert.equal(code, 1, err)
    assert.match(err, message)
  }
})

test('a notice that was stored before a kill is sent after the next start, with the same id', async () => {
  // Neither receiver takes it before the kill.
  statuses.push(503, 503, 503, 503)
  const words = ['keys', 'create', '--alg', 'A256GCM', '--home', warder.home]
  const made = await runWarder(words, settings({}))
  const key = made.out.split(' ')[0] ?? ''
  const seen = posted.length
  for (const verb of ['destroy', 'restore']) {
    const done = await runWarder(['keys', verb, key, '--yes', '--home', warder.home], settings({}))
    assert.equal(done.code, 0, done.err)
  }
  await until('the webhook refused it', () => /HTTP 503/.test(warder.output()))
  await warder.kill()
  statuses.length = 0
  warder = await startInstallation({ home: warder.home, env: settings({}) })
  const about = () => posted.slice(seen).filter(({ body }) => body.includes(key))
  await until('the notice arrives', () => about().length > 1)
  assert.equal(new Set(about().map(({ id }) => id)).size, 1)
  assert.match(about()[0]?.body ?? '', /"event":"destruction\.taken_back"/)
  await until('the mail arrives', () => smtp.mails.some(({ data }) => data.includes(key)))
})
