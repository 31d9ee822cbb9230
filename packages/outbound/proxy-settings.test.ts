import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isCredentials, readNoProxy, readProxyAddress } from './proxy-settings.ts'

test('a proxy has an http or https address, whose name never contains the credentials', () => {
  const read = (text: string) => {
    const address = readProxyAddress(text)
    assert.ok(typeof address === 'object', `${text} ${address}`)
    const { name, isSecure, host, port, credentials } = address
    return [name, isSecure, host, port, credentials]
  }
  assert.deepEqual(read('http://proxy.example:3128'), [
    'http://proxy.example:3128',
    false,
    'proxy.example',
    3128,
    undefined,
  ])
  assert.deepEqual(read('proxy.example:3128').slice(2), ['proxy.example', 3128, undefined])
  assert.deepEqual(read('http://proxy.example').slice(2, 4), ['proxy.example', 80])
  assert.deepEqual(read('https://[fd00::1]/'), ['https://[fd00::1]:443', true, 'fd00::1', 443, undefined])
  assert.deepEqual(read('http://ann:p%40ss%3A@proxy:1'), ['http://proxy:1', false, 'proxy', 1, 'ann:p@ss:'])
  for (const text of [
    '',
    'socks5://proxy.example:1080',
    'http://proxy.example/path',
    'http://proxy.example/?a',
    'http://proxy.example:99999',
    'http://:pass@proxy.example',
    'http://a%3Ab:c@proxy.example',
    'http://a:b%0d%0aX:1@proxy.example',
    'http://a:%ff@proxy.example',
  ])
    assert.equal(typeof readProxyAddress(text), 'string', text)
})

test('hosts that are reached directly are named by domain, address, block and port', () => {
  const rows: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['*', ['a.example', '10.0.0.1', '::1'], []],
    [
      'example.com',
      ['example.com', 'EXAMPLE.com.', 'a.b.example.com'],
      ['notexample.com', 'example.com.evil'],
    ],
    ['.example.com', ['a.example.com'], ['example.com', 'aexample.com']],
    ['*.example.com', ['a.example.com'], ['example.com', 'aexample.com']],
    ['Bücher.example', ['xn--bcher-kva.example'], ['bcher.example']],
    ['example.com:8443', ['example.com:8443', 'a.example.com:8443'], ['example.com:443', 'example.com']],
    ['10.1.2.3', ['10.1.2.3', '::ffff:10.1.2.3'], ['10.1.2.30', '10.1.2.3.example']],
    ['10.1.2.3:8443', ['10.1.2.3:8443'], ['10.1.2.3']],
    ['10.0.0.0/8', ['10.1.2.3', '10.255.255.255'], ['11.0.0.1', '10.example', 'fd00::1']],
    ['fd00::/8', ['fd00::1', 'fdff::'], ['fe80::1', '10.0.0.1']],
    ['[fd00::1]:8443', ['[fd00::1]:8443'], ['fd00::1']],
    ['::1', ['::1', '0:0:0:0:0:0:0:1'], ['::2']],
  ]
  for (const [entry, direct, proxied] of rows) {
    const { matches, invalid } = readNoProxy([entry])
    assert.deepEqual(invalid, [], entry)
    const ask = (target: string): boolean => {
      const [, host = target, port] = /^\[?(.*?)\]?:(\d{3,4})$/.exec(target) ?? []
      return matches(host, Number(port ?? 443))
    }
    for (const target of direct) assert.equal(ask(target), true, `${entry} ${target}`)
    for (const target of proxied) assert.equal(ask(target), false, `${entry} ${target}`)
  }
  assert.equal(readNoProxy([]).matches('example.com', 443), false)
})

test('entries that match nothing are named', () => {
  const wrong = [
    '<local>',
    '10.0.0.0/33',
    'fd00::/129',
    'a b',
    'http://a',
    'a.example:0',
    '10.0.0.1/8/8',
    '',
    '**',
  ]
  assert.deepEqual(readNoProxy(['a.example', ...wrong]).invalid, wrong)
})

test('no text makes the reading fail or the matching throw', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 })
  fc.assert(
    fc.property(text, text, (entry, host) => {
      assert.equal(typeof readNoProxy([entry]).matches(host, 443), 'boolean')
      const address = readProxyAddress(`http://${entry}@proxy.example:1`)
      if (typeof address === 'object') {
        assert.ok(!address.name.includes('@'))
        if (address.credentials !== undefined) assert.ok(isCredentials(address.credentials))
      }
    }),
  )
})
