import { Buffer } from 'node:buffer'
import { type Encoding, encodeNode, type TtlvNode } from '@warder/kmip-codec'
import { explain } from './explain.ts'

/** Output format of a message. */
export type Form = 'json' | 'xml' | 'hex' | 'text'

export const forms: readonly Form[] = ['text', 'json', 'xml', 'hex']

/** Formats a message as indented lines; `text` omits key material. */
export function formatMessage(node: TtlvNode, form: Form, showSecrets: boolean): readonly string[] {
  switch (form) {
    case 'json':
      return JSON.stringify(JSON.parse(encodeNode(node, 'json').toString('utf8')), undefined, 2).split('\n')
    case 'xml':
      return encodeNode(node, 'xml').toString('utf8').trimEnd().split('\n')
    case 'hex':
      return [encodeNode(node, 'ttlv').toString('hex')]
    case 'text':
      return explain(Buffer.from(encodeNode(node, 'ttlv')), { showSecrets }).lines
  }
}

/** Selects the output format for a request in this encoding. */
export function selectForm(encoding: Encoding): Form {
  return encoding === 'ttlv' ? 'text' : encoding
}
