import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import { signCompact } from '@warder/server'
import fc from 'fast-check'
import { compactVerify, importJWK } from 'jose'
import { es256, formatHeader, toPublicJwk, verifyCompact } from './es256.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = toPublicJwk(privateKey)
const header = formatHeader(jwk.kid)
const keyOf = (given: string): KeyObject | undefined => (given === header ? publicKey : undefined)
const token = signCompact(es256, header, { sub: 'ann' }, privateKey)
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('ES256 tokens', () => {
  it('are verified by this implementation and by another one', async () => {
    assert.deepEqual(verifyCompact(token, keyOf), { sub: 'ann' })
    const { payload } = await compactVerify(token, await importJWK({ ...jwk }, 'ES256'))
    assert.deepEqual(JSON.parse(Buffer.from(payload).toString()), { sub: 'ann' })
  })

  it('are refused with any other header: none, HS256, jwk, jku, crit, another order (A11)', () => {
    const [, payload, signature] = token.split('.')
    for (const other of [
      { alg: 'none' },
      { alg: 'HS256', typ: 'JWT', kid: jwk.kid },
      { alg: 'ES256', typ: 'JWT', kid: jwk.kid, jwk },
      { alg: 'ES256', typ: 'JWT', kid: jwk.kid, jku: 'https://evil.example' },
      { alg: 'ES256', typ: 'JWT', kid: jwk.kid, crit: [] },
      { typ: 'JWT', alg: 'ES256', kid: jwk.kid },
      { alg: 'ES256', typ: 'JWT', kid: 'other' },
    ]) {
      assert.equal(verifyCompact(`${encode(other)}.${payload}.${signature}`, keyOf), undefined)
    }
    for (const text of ['', '.', '..', `${header}.${payload}.`, `${token}.`, `${token}=`, ` ${token}`]) {
      assert.equal(verifyCompact(text, keyOf), undefined, text)
    }
    assert.equal(verifyCompact('a'.repeat(20_000), keyOf), undefined)
  })

  it('are refused when any character is changed', () => {
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...'ABab01-_.'), (index, character) => {
        if (token[index] === character) return
        const changed = token.slice(0, index) + character + token.slice(index + 1)
        assert.equal(verifyCompact(changed, keyOf), undefined)
      }),
    )
  })
})
