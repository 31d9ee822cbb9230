import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { type Installation, runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

/** More rounds for a long run: WARDER_POWER_CUT_ROUNDS=500 npm test -- power-cut */
const rounds = Number(process.env.WARDER_POWER_CUT_ROUNDS ?? 6)

interface Acknowledged {
  readonly kid: string
  readonly kid_public?: string
  readonly kty: string
}

/** Creates keys of both kinds from several connections until the server is gone; keeps what was acknowledged. */
async function createUntilGone(
  warder: Installation,
  authorization: string,
  acknowledged: Acknowledged[],
): Promise<void> {
  const requests = [
    { kty: 'oct', alg: 'HS256' },
    { kty: 'EC', crv: 'P-256', alg: 'ES256' },
  ]
  const creator = async (index: number): Promise<void> => {
    const kms = warder.client('kms')
    for (let count = index; ; count += 1) {
      try {
        const answer = await kms.ask('/v1/crypto/keys', {
          json: requests[count % 2],
          headers: { authorization },
        })
        if (answer.status === 200) acknowledged.push(answer.json as Acknowledged)
      } catch {
        kms.close()
        return
      }
    }
  }
  await Promise.all([0, 1, 2, 3].map(creator))
}

/** Every acknowledged key is there, whole, and works. */
async function checkAll(
  warder: Installation,
  authorization: string,
  keys: readonly Acknowledged[],
): Promise<void> {
  const kms = warder.client('kms')
  const ask = async (path: string, json: unknown): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await kms.ask(path, { json, headers: { authorization } })
    assert.equal(answer.status, 200, `${path}: ${answer.text}`)
    return answer.json as Readonly<Record<string, unknown>>
  }
  for (const key of keys) {
    if (key.kty === 'oct') {
      assert.ok((await ask('/v1/crypto/mac', { kid: key.kid, alg: 'HS256', data: 'eA' })).mac)
    } else {
      const signed = await ask('/v1/crypto/sign', { kid: key.kid, alg: 'ES256', data: 'eA' })
      const verified = await ask('/v1/crypto/verify', { ...signed, data: 'eA' })
      assert.deepEqual(verified, { kid: key.kid_public, valid: true })
    }
  }
  kms.close()
}

test(`killed ${rounds} times at random moments of a stream of creates, nothing acknowledged is lost`, {
  timeout: 170_000 + rounds * 5_000,
}, async () => {
  const home = temporaryHome()
  const all: Acknowledged[] = []
  for (let round = 0; round < rounds; round += 1) {
    const warder = await startInstallation({ home })
    const authorization = `Bearer ${await warder.adminToken()}`
    await checkAll(warder, authorization, all.slice(-60))
    const before = all.length
    const stream = createUntilGone(warder, authorization, all)
    // Also on a slow machine there is something to lose.
    await until('keys are made', () => all.length > before + 1)
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 180))
    await warder.kill()
    await stream
  }
  const warder = await startInstallation({ home })
  assert.ok(all.length > rounds, 'the stream did create keys')
  await checkAll(warder, `Bearer ${await warder.adminToken()}`, all)
  assert.equal(await warder.stop(), 0)
  const { code, out } = await runWarder(['audit', 'verify', '--home', home])
  assert.equal(code, 0, out)
  rmSync(home, { recursive: true })
})
