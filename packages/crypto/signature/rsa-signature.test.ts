import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompactSign, compactVerify } from 'jose'
import { algorithmFor } from '../algorithms/algorithms.ts'
import { checkSignature } from '../jose/jws-detached.ts'
import { signed } from '../jose/testing/jose-samples.ts'
import { generateEc, generateRsa } from '../material/generate-key.ts'

const names = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const named = (alg: string) => algorithmFor('signature', alg, { fips: false })

test('the jose library verifies our RSA signatures and we verify its own', async () => {
  const pair = await generateRsa(2048)
  assert.ok('private' in pair)
  for (const alg of names) {
    const input = `${Buffer.from(JSON.stringify({ alg })).toString('base64url')}.aGk`
    const signature = await signed(named(alg), pair.private, Buffer.from(input))
    await compactVerify(`${input}.${signature.toString('base64url')}`, pair.public.key)
    const theirs = await new CompactSign(Buffer.from('hi')).setProtectedHeader({ alg }).sign(pair.private.key)
    const cut = theirs.lastIndexOf('.')
    const bytes = Buffer.from(theirs.slice(cut + 1), 'base64url')
    assert.ok(await checkSignature(named(alg), pair.public, Buffer.from(theirs.slice(0, cut)), bytes))
    for (const bad of [bytes.subarray(1), Buffer.alloc(0), Buffer.alloc(4096), Buffer.alloc(256, 255)])
      assert.equal(await checkSignature(named(alg), pair.public, Buffer.from(input), bad), false)
  }
})

test('the jose library verifies our ES256 signature', async () => {
  const pair = await generateEc('P-256')
  assert.ok('private' in pair)
  const input = `${Buffer.from('{"alg":"ES256"}').toString('base64url')}.aGk`
  const signature = await signed(named('ES256'), pair.private, Buffer.from(input))
  await compactVerify(`${input}.${signature.toString('base64url')}`, pair.public.key)
})

test('a signature that begins with a zero byte is false without it (RFC 8017 §8.1.2)', async () => {
  const pair = await generateRsa(2048)
  assert.ok('private' in pair)
  for (const alg of names) {
    let [data, signature]: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)]
    // One signature of 256 begins with a zero: enough tries that this cannot fail by chance.
    for (let at = 0; at < 20_000 && signature[0] !== 0; at += 1) {
      data = Buffer.from(String(at))
      signature = await signed(named(alg), pair.private, data)
    }
    assert.equal(signature[0], 0)
    assert.ok(await checkSignature(named(alg), pair.public, data, signature))
    assert.ok(!(await checkSignature(named(alg), pair.public, data, signature.subarray(1))))
    assert.ok(
      !(await checkSignature(named(alg), pair.public, data, Buffer.concat([Buffer.alloc(1), signature]))),
    )
  }
})
