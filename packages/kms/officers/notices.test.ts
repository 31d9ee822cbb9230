import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { Secret, systemClock } from '@warder/base'
import type { Outbound } from '@warder/outbound'
import { startKms } from '../testing/start.ts'
import { createNotices } from './notices.ts'

const secret = 'a secret of more than thirty-two characters'
const url = 'https://receiver.example/notices'

interface Sent {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** Receiver of notices: answers the statuses in their order, then 200. */
function receiver(...statuses: readonly (number | 'away')[]) {
  const sent: Sent[] = []
  const left = [...statuses]
  const arrived: (() => void)[] = []
  const outbound = {
    async post(_url: string, body: Uint8Array, options?: { headers?: Readonly<Record<string, string>> }) {
      sent.push({ body: Buffer.from(body).toString(), headers: options?.headers ?? {} })
      arrived.splice(0).forEach((resolve) => {
        resolve()
      })
      const status = left.shift() ?? 200
      if (status === 'away') throw new Error('nobody there')
      return { status, headers: {}, body: new Uint8Array() }
    },
  } as unknown as Outbound
  const until = async (count: number): Promise<void> => {
    while (sent.length < count) await new Promise<void>((resolve) => arrived.push(resolve))
  }
  return { sent, outbound, until }
}

const lines: string[] = []
const write = (_fields: object, message: string): void => void lines.push(message)
const log = { debug: write, info: write, warn: write, error: write, child: () => log }
const options = { url, secret: Secret.fromText(secret), clock: systemClock, log, waits: [1, 1] }

test('a notice is signed over its time and its body', async () => {
  const { sent, outbound, until } = receiver()
  createNotices({ ...options, outbound }).tell('approval.asked', { by: 'alice' })
  await until(1)
  const { body = '', headers } = sent[0] ?? {}
  const [, seconds = '', mac] =
    /^t=([0-9]+),v1=([0-9a-f]{64})$/.exec(headers?.['warder-signature'] ?? '') ?? []
  assert.equal(mac, createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'))
  const { event, by } = JSON.parse(body)
  assert.deepEqual([event, by], ['approval.asked', 'alice'])
})

test('a receiver that is away or refuses is tried three times, and the notices keep their order', async () => {
  const { sent, outbound, until } = receiver('away', 500, 503, 'away')
  const notices = createNotices({ ...options, outbound })
  notices.tell('one', {})
  notices.tell('two', {})
  await until(5)
  assert.deepEqual(
    sent.map(({ body }) => JSON.parse(body).event),
    ['one', 'one', 'one', 'two', 'two'],
  )
  assert.ok(lines.some((line) => line.includes('abandoned')))
})

test('more notices than wait are dropped with a line in the log', async () => {
  const { sent, outbound, until } = receiver()
  const notices = createNotices({ ...options, outbound })
  for (let index = 0; index < 1005; index++) notices.tell('many', { index })
  await until(1000)
  assert.equal(lines.filter((line) => line.includes('dropped')).length, 5)
  assert.equal(JSON.parse(sent.at(-1)?.body ?? '').index, 999)
})

test('officers are told of each step over the settings, and a start without a secret is refused', async () => {
  const officers = {
    'roles.crypto_officer_users': ['ann', 'ben', 'cid'],
    'approvals.operations': ['destroy'],
  }
  const config = {
    ...officers,
    'approvals.webhook_url': 'https://127.0.0.1:1/',
    'approvals.webhook_secret': secret,
  }
  await using kms = await startKms({ config })
  const { json } = await kms.user('ann').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  const told: string[] = []
  const { services } = kms
  assert.ok(services.notices)
  services.notices.tell = (event, about) => void told.push(`${event} ${JSON.stringify(about)}`)
  const asked = await kms.user('ann').post('/access/approvals', { operation: 'destroy', key: json.kid })
  const { id, hash } = asked.json
  await kms.user('ben').post(`/access/approvals/${id}/approve`, { hash })
  await kms.user('ann').post(`/access/approvals/${id}/withdraw`, {})
  assert.deepEqual(
    told.map((line) => line.split(' ')[0]),
    ['approval.asked', 'approval.approved', 'approval.withdrawn'],
  )
  assert.match(told[1] ?? '', /"by":"ben".*"approved_by":\["ben"\]/)
  const half = { ...officers, 'approvals.webhook_url': url }
  await assert.rejects(startKms({ config: half }), /both webhook_url and webhook_secret/)
  await assert.rejects(
    startKms({ config: { ...config, 'approvals.webhook_secret': 'short' } }),
    /32 characters/,
  )
})
