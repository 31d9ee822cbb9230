import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, type KeyObject, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { quietLog } from '@warder/base/testing'
import { createInlineKeySet, publicJwk, signToken } from '@warder/server'
import { createEndedWriter, type EndedConfig, readEnded } from './ended.ts'
import { createEndedMemory } from './ended-set.ts'
import { type CredentialSet, type EndedName, follow } from './follower.ts'

const defaults = {
  auth_feed_when_lost: 'refuse',
  auth_feed_max_age_secs: 60,
  auth_feed_max_entries: 1000,
} as const

const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

interface Page {
  body: string
  claims: Record<string, unknown>
  key: KeyObject
  kid: string
  status: number
  signed: boolean
}

type Entry = readonly (string | number)[]

/** An authentication service whose every page goes through `tamper`, and a kms that follows it. */
function scene(
  first: readonly Entry[] = [],
  tamper: (page: Page, asked: number) => void = () => undefined,
  mostEntries = 1000,
  config: EndedConfig = defaults,
) {
  const { privateKey, publicKey } = pair()
  const jwk = publicJwk(publicKey)
  const clock = { wall: Date.now(), now: () => clock.wall, monotonic: () => clock.mono, mono: 1_000_000 }
  const entries: Entry[] = [...first]
  const questions: { after: number; acknowledged: number; position: number }[] = []
  let asked = 0
  let wake: () => void = () => undefined
  const outbound = {
    async get(url: string, options?: { readonly signal?: AbortSignal }) {
      const query = new URL(url).searchParams
      const after = Number(query.get('after'))
      const acknowledged = Number(query.get('acknowledged') ?? after)
      questions.push({ after, acknowledged, position: ended.position() })
      if (asked > 50 || (query.get('wait') !== '0' && entries.every(([seq]) => Number(seq) <= after)))
        await new Promise<void>((resolve, reject) => {
          wake = resolve
          setTimeout(resolve, 100).unref()
          options?.signal?.addEventListener('abort', () => reject(new Error('let go')))
        })
      asked += 1
      const later = entries.filter(([seq]) => Number(seq) > after).slice(0, mostEntries)
      const last = Number(later.at(-1)?.[0] ?? after)
      const head = Number(entries.at(-1)?.[0] ?? 0)
      const body = JSON.stringify({ after, last, head, entries: later })
      const now = Math.floor(clock.wall / 1000)
      const page: Page = {
        body,
        claims: {
          aud: 'warder:ended',
          iat: now,
          exp: now + 300,
          nonce: query.get('nonce'),
          last,
          sha256: hash('sha256', body, 'base64url'),
        },
        key: privateKey,
        kid: String(jwk.kid),
        status: 200,
        signed: true,
      }
      tamper(page, asked)
      const statement = signToken({ alg: 'ES256', typ: 'JWT', kid: page.kid }, page.claims, page.key)
      const headers = page.signed ? { 'x-warder-statement': statement } : {}
      return { status: page.status, headers, body: Buffer.from(page.body) }
    },
    post: async () => assert.fail('nothing is posted'),
    delete: async () => assert.fail('nothing is deleted'),
  }
  const gone: EndedName[] = []
  const told: string[] = []
  const tell = (_fields: unknown, message: string): void => void told.push(message)
  const memory = createEndedMemory(1000)
  const ended = readEnded(memory, config, clock)
  const credentials: CredentialSet[] = []
  const follower = follow({
    source: {
      url: 'https://auth.test',
      outbound,
      keys: createInlineKeySet({ keys: [jwk] }),
      clock,
      headers: () => ({}),
    },
    writer: createEndedWriter(memory, config, clock),
    nameOf: (realm, username) => (realm === '_' ? username : `${realm}/${username}`),
    endVotes: async (users) => void credentials.push(...users),
    endNames: async (names) => void gone.push(...names),
    clock,
    log: { ...quietLog, info: tell, warn: tell },
  })
  // The follower's own timers keep no process running.
  const running = setInterval(() => undefined, 60_000)
  return {
    ended,
    follower,
    clock,
    entries,
    questions,
    asked: () => asked,
    names: gone,
    credentials,
    told,
    add(...more: Entry[]) {
      entries.push(...more)
      wake()
    },
    async [Symbol.asyncDispose]() {
      clearInterval(running)
      await follower.stop()
    },
  }
}

const until = 4_000_000_000
const session = (seq: number, id: string): Entry => [seq, 'session', id, until]
const soon = async (holds: () => boolean): Promise<void> => {
  const end = performance.now() + 10_000
  while (!holds()) {
    assert.ok(performance.now() < end, 'in time')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

test('what the feed says is known: sessions, users, logins, machines', async () => {
  const [one, two, person] = [randomUUID(), randomUUID(), randomUUID()]
  await using kms = scene([session(1, one), [2, 'person', person, until, 1000, '_', 'alice', 'deleted']])
  await kms.follower.ready(10_000)
  assert.equal(kms.ended.isCurrent(), true)
  assert.deepEqual(kms.names, [{ name: 'alice', subjectId: person }])
  assert.deepEqual(
    [kms.ended.hasSession(one), kms.ended.hasSession(two), kms.ended.hasPerson(person)],
    [true, false, true],
  )
  assert.deepEqual([kms.ended.nameEndedAt('alice'), kms.ended.nameEndedAt('bob')], [1000, 0])
  kms.add(
    [5, 'logins', '', until, 1000, 'eng', 'alice', 'password_changed'],
    [6, 'realm', '', until, 1000, 'ops', '', 'realm_ended'],
    [7, 'machine', 'ci', until, 1000, '_', '', 'revoked'],
    [8, 'credential', '', until, 1000, 'eng', 'ann', 'credential_set'],
    [9, 'credentials', '', until, 1000, 'ops', '', 'credential_set'],
    [10, 'something later versions know', 'x', until, 1000, '_', '', 'y'],
  )
  await soon(() => kms.ended.position() === 10)
  const { ended } = kms
  assert.deepEqual(kms.credentials, [
    { realm: 'eng', name: 'eng/ann', at: 1000 },
    { realm: 'ops', name: undefined, at: 1000 },
  ])
  assert.deepEqual(
    [ended.loginsEndedBy('eng', 'alice'), ended.loginsEndedBy('_', 'alice'), ended.loginsEndedBy('ops', 'x')],
    [5, 0, 6],
  )
  assert.deepEqual([ended.machineEndedBy('ci'), ended.machineEndedBy('cd')], [7, 0])
})

test('the next page is asked for before one is taken, and acknowledged when it is', async () => {
  const ids = Array.from({ length: 5 }, () => randomUUID())
  const tampered = (page: Page, asked: number): void => {
    if (asked === 2) page.signed = false
  }
  const first = ids.map((id, index) => session(index + 1, id))
  await using kms = scene(first, tampered, 2)
  await kms.follower.ready(10_000)
  assert.deepEqual(
    ids.map((id) => kms.ended.hasSession(id)),
    [true, true, true, true, true],
  )
  assert.deepEqual(
    kms.questions.slice(0, 4).map(({ after, acknowledged }) => [after, acknowledged]),
    // The second answer is refused, and asked for again when the first page is taken.
    [
      [0, 0],
      [2, 0],
      [2, 2],
      [4, 2],
    ],
  )
  for (const { acknowledged, position } of kms.questions) assert.ok(acknowledged <= position)
})

const other = pair()
let replayed: Page | undefined
const forgeries: Readonly<Record<string, (page: Page) => void>> = {
  'not signed': (page) => {
    page.signed = false
  },
  'signed by a stranger': (page) => {
    page.key = other.privateKey
  },
  'a session token in place of the statement': (page) => {
    page.claims.aud = ['warder:ended']
  },
  'without an audience': (page) => {
    page.claims.aud = undefined
  },
  'an answer to an earlier question': (page) => {
    replayed ??= { ...page, claims: { ...page.claims, nonce: 'A'.repeat(24) } }
    Object.assign(page, replayed)
  },
  'another body than was signed': (page) => {
    page.body = page.body.replace('[1,', '[2,')
  },
  'cut: the statement has more than the page': (page) => {
    page.claims.last = 7
  },
  'a statement of long ago': (page) => {
    page.claims.exp = 1000
  },
  'a statement of the future': (page) => {
    page.claims.iat = until
  },
  'a failure': (page) => {
    page.status = 500
  },
  'no permission': (page) => {
    page.status = 401
  },
}
const signedAnew = (page: Page, body: unknown): void => {
  page.body = typeof body === 'string' ? body : JSON.stringify(body)
  page.claims.sha256 = hash('sha256', page.body, 'base64url')
}
const wrongPages: Readonly<Record<string, unknown>> = {
  'no JSON': '<html>',
  'no page': '[]',
  'no entries': { after: 0, last: 1, head: 1 },
  'out of order': { after: 0, last: 1, head: 2, entries: [session(2, 'x'), session(1, 'y')] },
  'the same number twice': { after: 0, last: 1, head: 2, entries: [session(1, 'x'), session(1, 'y')] },
  'an entry that was asked for before': { after: 0, last: 0, head: 1, entries: [session(0, 'x')] },
  'after another entry': { after: 5, last: 6, head: 6, entries: [session(6, 'x')] },
  'another end': { after: 0, last: 3, head: 3, entries: [session(1, 'x')] },
  'numbers that are texts': { after: 0, last: 1, head: 1, entries: [['1', 'session', 'x', until]] },
  'numbers past what is kept': { after: 0, last: 2 ** 40, head: 2 ** 40, entries: [session(2 ** 40, 'x')] },
  'entries that are objects': { after: 0, last: 1, head: 1, entries: [{ seq: 1 }] },
}

test('a start waits for the other service without a warning; a feed that is lost later is told once', async () => {
  let lost = true
  const answering = (page: Page): void => {
    if (lost) page.status = 503
  }
  await using kms = scene([session(1, randomUUID())], answering)
  await soon(() => kms.asked() >= 2)
  lost = false
  await kms.follower.ready(10_000)
  assert.deepEqual(kms.told, [])
  const asked = kms.asked()
  lost = true
  await soon(() => kms.asked() > asked + 1)
  lost = false
  await soon(() => kms.told.length === 2)
  assert.deepEqual(kms.told, [
    'the revocation feed cannot be read',
    'the subscription to the revocation feed works again',
  ])
})

for (const [what, tamper] of [
  ...Object.entries(forgeries),
  ...Object.entries(wrongPages).map(
    ([what, body]) => [what, (page: Page) => signedAnew(page, body)] as const,
  ),
])
  test(`a page is not taken, and what is known is not called complete: ${what}`, async () => {
    const id = randomUUID()
    await using kms = scene([session(1, id)], tamper)
    await soon(() => kms.asked() >= 2)
    assert.deepEqual(
      [kms.ended.hasSession(id), kms.ended.isCurrent(), kms.ended.position()],
      [false, false, 0],
    )
    await assert.rejects(kms.ended.requireCurrent(), { kind: 'overloaded' })
  })

test('a feed that cannot be had for longer than the setting says is lost, and found again', async () => {
  let broken = false
  const tamper = (page: Page): void => {
    if (broken) page.status = 503
  }
  await using kms = scene([], tamper, 1000, { ...defaults, auth_feed_max_age_secs: 4 })
  await kms.follower.ready(10_000)
  await kms.ended.requireCurrent()
  broken = true
  kms.add(session(1, randomUUID()))
  const asked = kms.asked()
  await soon(() => kms.asked() > asked)
  // In steps in which the follower has its turns: no time is lost.
  const pass = async (seconds: number): Promise<void> => {
    for (let step = 0; step < seconds * 2; step += 1) {
      kms.clock.mono += 500
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
  await pass(2)
  await kms.ended.requireCurrent()
  await pass(3)
  await assert.rejects(kms.ended.requireCurrent(), { kind: 'overloaded', retryAfterSeconds: 1 })
  broken = false
  await soon(() => kms.ended.isCurrent())
})

test('the clock of the authentication service, or of this one, being wrong does not bring back what ended', async () => {
  const [id, ahead] = [randomUUID(), randomUUID()]
  const now = Math.floor(Date.now() / 1000)
  // Tokens of a service whose clock is ahead end later, by the same clock.
  await using kms = scene([
    [1, 'session', id, now + 600],
    [2, 'session', ahead, now + 600 + 86_400],
  ])
  await kms.follower.ready(10_000)
  assert.deepEqual([kms.ended.hasSession(id), kms.ended.hasSession(ahead)], [true, true])
  kms.clock.wall -= 3_600_000
  kms.add(session(3, randomUUID()))
  await soon(() => kms.ended.position() === 3)
  assert.deepEqual([kms.ended.hasSession(id), kms.ended.hasSession(ahead)], [true, true])
})

test('another database of the authentication service is followed from its beginning; what had ended stays ended', async () => {
  const [before, later] = [randomUUID(), randomUUID()]
  await using kms = scene([session(7, before)])
  await kms.follower.ready(10_000)
  kms.entries.length = 0
  kms.add(session(1, later))
  // The next question is after 7, which this feed has not reached.
  await soon(() => kms.ended.hasSession(later))
  assert.equal(kms.ended.hasSession(before), true)
})

for (const clockOf of ['mono', 'wall'] as const)
  test(`a process that was stopped asks the feed before it serves (${clockOf})`, async () => {
    const id = randomUUID()
    await using kms = scene()
    await kms.follower.ready(10_000)
    await kms.ended.requireCurrent()
    // It is stopped while a session ends: the clock goes on, and nothing else has had its turn.
    kms.entries.push(session(1, id))
    kms.clock[clockOf] += 1000
    assert.equal(kms.ended.isCurrent(), false)
    await kms.ended.requireCurrent()
    assert.equal(kms.ended.hasSession(id), true)
  })

test('a process that was stopped, and cannot ask the feed, refuses although the feed is young', async () => {
  let broken = false
  await using kms = scene([], (page) => {
    if (broken) page.status = 503
  })
  await kms.follower.ready(10_000)
  broken = true
  kms.clock.mono += 1000
  await assert.rejects(kms.ended.requireCurrent(), { kind: 'overloaded' })
  broken = false
  await soon(() => kms.ended.isCurrent())
})

test('less than a second that is missed, and a clock that is set back, hold nothing up', async () => {
  await using kms = scene()
  await kms.follower.ready(10_000)
  kms.clock.mono += 500
  kms.clock.wall -= 3_600_000
  assert.equal(kms.ended.isCurrent(), true)
  await kms.ended.requireCurrent()
})
