import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noteAddressProblems } from './store.ts'

test('an address that no cloud can use is told with what to do, a public name is not', () => {
  for (const local of ['https://localhost:9998', 'https://127.0.0.2', 'https://[::1]:1', 'https://0.0.0.0'])
    assert.match(noteAddressProblems(local).join(), /^Clouds cannot reach .*kms_public_url/, local)
  for (const address of ['https://192.0.2.7', 'https://[2001:db8::7]:9998'])
    assert.match(noteAddressProblems(address).join(), /^Clouds need a name .*kms_public_url/, address)
  for (const named of [
    'https://kms.example.com',
    'https://127.example.com',
    'https://kms.example.com:9998/kms',
  ])
    assert.deepEqual(noteAddressProblems(named), [], named)
})
