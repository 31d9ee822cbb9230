import assert from 'node:assert/strict'
import { test } from 'node:test'
import { integrityValue } from './encryption.ts'

test('the example of appendix C of the XKS Proxy API has its value', () => {
  const decode = (text: string): Buffer => Buffer.from(text, 'base64')
  const value = integrityValue({
    aad: decode('cHJvamVjdD1uaWxlLGRlcGFydG1lbnQ9bWFya2V0aW5n'),
    metadata: decode('a2V5X3ZlcnNpb249MQ=='),
    iv: decode('HMrlRw85cAJUd5Ax'),
    ciphertext: decode('ghxkK1txeDNn3q8Y'),
    tag: decode('vBxN2ncH1oEkR8WVXpmyYQ=='),
  })
  assert.equal(value, 'qHA/ImC9h5HsLRXqCyPmWgYx7tzyoTplzILbP0fPXsc=')
})
