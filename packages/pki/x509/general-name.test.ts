import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextTag, der, derObjectIdentifier, derSequence } from '../der.ts'
import { generalName, generalNameText } from './general-name.ts'

test('alternative names are formatted as they are written in requests', () => {
  for (const text of [
    'DNS:kms.example',
    'email:a@b.example',
    'URI:https://kms.example/',
    'IP:192.0.2.1',
    'IP:2001:db8::1',
  ])
    assert.equal(generalNameText(generalName(text)), text)
})

test('alternative names of other kinds are formatted as the hexadecimal of their DER', () => {
  const registered = der(contextTag(8, false), derObjectIdentifier('1.2.3').subarray(2))
  assert.equal(generalNameText(registered), '#88022a03')
  assert.equal(generalNameText(der(contextTag(4), derSequence())), '#a4023000')
  assert.equal(generalNameText(der(contextTag(7, false), Buffer.alloc(5))), '#87050000000000')
})
