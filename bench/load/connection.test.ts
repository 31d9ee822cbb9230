import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readReply, requestBytes } from './connection.ts'

test('a reply is read only when it is all there, and the rest is left for the next', () => {
  const whole = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 204 No Content\r\n\r\n')
  assert.equal(readReply(whole.subarray(0, 39)), undefined)
  const first = readReply(whole)
  assert.deepEqual([first?.status, first?.body.toString(), first?.length], [200, '{}', 40])
  const second = readReply(whole.subarray(first?.length))
  assert.deepEqual([second?.status, second?.body.length], [204, 0])
})

test('a request carries the length of its body in bytes', () => {
  const bytes = requestBytes('POST', '/x', 'localhost', { Authorization: 'Bearer t' }, '{"a":"é"}').toString()
  assert.match(bytes, /^POST \/x HTTP\/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\n/)
  assert.match(bytes, /Content-Length: 10\r\n\r\n\{"a":"é"\}$/)
})
