import { useMutation } from '@tanstack/react-query'
import { ClientError, fromBase64Url, toBase64Url } from '@warder/client/browser'
import { useState } from 'react'
import { kms } from '../../../api.ts'
import { CopyButton } from '../../../parts/copy.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { Status } from '../../../parts/status.tsx'
import { texts } from '../../../texts.ts'
import { type KeyUse, listUses, type Operation } from './algorithms.ts'
import { OperationChoice } from './code.tsx'
import type { KeyProps } from './rights.ts'
import { describeState } from './state.tsx'

const words = texts.tryKey
const maxBytes = 4 * 1024 * 1024
const limit = '4 MiB'
/** Longer results are copied and saved, but not drawn. */
const maxShown = 64 * 1024

interface Outcome {
  readonly operation: Operation
  /** JOSE JSON. */
  readonly json?: unknown
  readonly bytes?: Uint8Array
  readonly isValid?: boolean
}

/** Values of the form; a file takes precedence over the text. */
interface Given {
  readonly use: KeyUse
  readonly alg: string
  readonly values: Readonly<Record<string, string>>
  readonly file: File | undefined
}

/** Uses the key in the page: what it encrypts or signs is sent to the service, and stored nowhere. */
export function Try({ of: key, may }: KeyProps) {
  const uses = listUses(key)
  const [chosen, setChosen] = useState<Operation>()
  const use = uses.find(({ operation }) => operation === chosen) ?? uses[0]
  if (use === undefined)
    return (
      <Empty title={words.none}>
        <p>{words.noneHelp}</p>
      </Empty>
    )
  const state = describeState(key)
  const right = {
    encrypt: 'encrypt',
    decrypt: 'decrypt',
    sign: 'sign',
    verify: 'signatureverify',
    mac: 'mac',
  }
  const needed = right[use.operation]
  return (
    <>
      {state !== texts.keys.states.Active && <p className="notice">{words.inactive(state)}</p>}
      <OperationChoice uses={uses} chosen={use} choose={setChosen} />
      {may(needed) ? (
        <TryForm key={use.operation} of={key} use={use} />
      ) : (
        <p className="notice">{texts.key.noRight(needed)}</p>
      )}
    </>
  )
}

function TryForm({ of: key, use }: { readonly of: KeyProps['of']; readonly use: KeyUse }) {
  const { operation, algs } = use
  const [alg, setAlg] = useState(algs[0]?.alg ?? '')
  const [file, setFile] = useState<File>()
  const run = useMutation({ mutationFn: (given: Given) => execute(key, given) })
  const readsData = operation !== 'decrypt'
  return (
    <>
      <Form
        submit={words.operations[operation]}
        isPending={run.isPending}
        error={run.error}
        onSubmit={(values) => run.mutate({ use, alg, values, file })}
      >
        {algs.length > 1 && (
          <label className="field">
            <span>{words.algorithm}</span>
            <select className="input" value={alg} onChange={({ target }) => setAlg(target.value)}>
              {algs.map((each) => (
                <option key={each.alg}>{each.alg}</option>
              ))}
            </select>
          </label>
        )}
        {operation === 'decrypt' && <TextArea label={words.jwe} name="jose" isCode />}
        {operation === 'verify' && <TextArea label={words.jws} name="jose" isCode />}
        {readsData && <TextArea label={words.text} name="text" />}
        {readsData && (
          <label className="field">
            <span>{words.file}</span>
            <input type="file" className="input" onChange={({ target }) => setFile(target.files?.[0])} />
            <span className="quiet">{words.fileHelp(limit)}</span>
          </label>
        )}
        {operation === 'encrypt' && key.kty === 'ABE' && (
          <Field label={words.policy} name="policy" defaultValue="*" />
        )}
        {operation === 'mac' && (
          <Field label={words.mac} help={words.macHelp} name="mac" autoComplete="off" />
        )}
      </Form>
      {run.data !== undefined && <Result of={run.data} />}
    </>
  )
}

function TextArea(props: { readonly label: string; readonly name: string; readonly isCode?: boolean }) {
  const { label, name, isCode = false } = props
  return (
    <label className="field">
      <span>{label}</span>
      <textarea
        name={name}
        rows={isCode ? 8 : 4}
        className={isCode ? 'input code-input' : 'input'}
        spellCheck={false}
      />
    </label>
  )
}

/** @throws ClientError with a sentence for the user */
const refuse = (description: string): never => {
  throw new ClientError({ kind: 'bad_request', description })
}

async function readData({ values, file }: Given): Promise<string> {
  if (file !== undefined && file.size > maxBytes) return refuse(words.tooLarge(file.name, limit))
  const bytes =
    file === undefined
      ? new TextEncoder().encode(values.text ?? '')
      : new Uint8Array(await file.arrayBuffer())
  if (bytes.length > maxBytes) return refuse(words.tooLarge(words.text, limit))
  return toBase64Url(bytes)
}

/** The JOSE object in the form. @throws ClientError */
function readJose(text: string, required: readonly string[]): Readonly<Record<string, string>> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return refuse(words.notJson)
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return refuse(words.notJson)
  const missing = required.filter((name) => !Object.hasOwn(json, name))
  return missing.length > 0
    ? refuse(words.missing(missing.join(', ')))
    : (json as Readonly<Record<string, string>>)
}

/** The key that a JOSE header names; undefined if it names none. */
function readKid({ protected: header = '' }: Readonly<Record<string, string>>): string | undefined {
  try {
    const { kid } = JSON.parse(new TextDecoder().decode(fromBase64Url(header))) as { readonly kid?: unknown }
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}

/** The service uses the key of the header: on the page of another key that would mislead. @throws ClientError */
async function requireThisKey(key: KeyProps['of'], jose: Readonly<Record<string, string>>): Promise<void> {
  const named = readKid(jose)
  const own = [key.kid, key.linked_kid, key.version_of, key.version_kid]
  if (named === undefined || own.includes(named)) return
  const { kid, version_of: whole } = await kms.client.call('crypto.keys.get', { path: { kid: named } })
  if (!own.includes(whole ?? kid)) refuse(words.otherKey(whole ?? kid))
}

async function execute(key: KeyProps['of'], given: Given): Promise<Outcome> {
  const { use, alg, values } = given
  const { operation } = use
  const { client } = kms
  const { kid } = key
  const jose = (values.jose ?? '').trim()
  switch (operation) {
    case 'encrypt': {
      const { enc = '' } = use.algs.find((each) => each.alg === alg) ?? {}
      const policy = key.kty === 'ABE' ? { policy: values.policy ?? '' } : {}
      const body = { kid, alg, enc, data: await readData(given), ...policy }
      return { operation, json: await client.call('crypto.encrypt', { body }) }
    }
    case 'decrypt': {
      const jwe = readJose(jose, ['protected', 'iv', 'ciphertext', 'tag'])
      if (key.kty !== 'ABE') await requireThisKey(key, jwe)
      const body = { ...(jwe as JweBody), ...(key.kty === 'ABE' && { kid }) }
      return { operation, bytes: fromBase64Url((await client.call('crypto.decrypt', { body })).data) }
    }
    case 'sign':
      return {
        operation,
        json: await client.call('crypto.sign', { body: { kid, alg, data: await readData(given) } }),
      }
    case 'verify': {
      const jws = readJose(jose, ['protected', 'signature'])
      await requireThisKey(key, jws)
      const { protected: header = '', signature = '' } = jws
      const body = { protected: header, signature, data: await readData(given) }
      return { operation, isValid: (await client.call('crypto.verify', { body })).valid }
    }
    case 'mac': {
      const mac = (values.mac ?? '').trim()
      const body = { kid, alg, data: await readData(given), ...(mac !== '' && { mac }) }
      const reply = await client.call('crypto.mac', { body })
      return 'valid' in reply ? { operation, isValid: reply.valid } : { operation, json: reply }
    }
  }
}

type JweBody = Readonly<Record<'protected' | 'iv' | 'ciphertext' | 'tag', string>>

function Result({ of: { operation, json, bytes, isValid } }: { readonly of: Outcome }) {
  return (
    <section className="result" aria-label={words.result} aria-live="polite">
      <h2>{words.result}</h2>
      {isValid !== undefined && (
        <Status kind={isValid ? 'good' : 'danger'}>{isValid ? words.valid : words.invalid}</Status>
      )}
      {json !== undefined && <Output name={`${operation}.json`} text={JSON.stringify(json, undefined, 2)} />}
      {bytes !== undefined && <Plain bytes={bytes} />}
    </section>
  )
}

/** The text of bytes; undefined if they are not UTF-8. */
function toText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function Plain({ bytes }: { readonly bytes: Uint8Array }) {
  const text = toText(bytes)
  if (text !== undefined) return <Output name="decrypted.txt" text={text} />
  return (
    <>
      <p>{words.binary(bytes.length)}</p>
      <SaveButton name="decrypted.bin" content={new Blob([bytes.slice()])} />
    </>
  )
}

function Output({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <>
      {text.length <= maxShown && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached with the keyboard
        <pre className="output" tabIndex={0}>
          <code>{text}</code>
        </pre>
      )}
      <div className="actions">
        <CopyButton text={text} />
        <SaveButton name={name} content={new Blob([text])} />
      </div>
    </>
  )
}

function SaveButton({ name, content }: { readonly name: string; readonly content: Blob }) {
  const save = (): void => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(content)
    link.download = name
    link.click()
    URL.revokeObjectURL(link.href)
  }
  return (
    <button type="button" className="button" onClick={save}>
      {words.save}
    </button>
  )
}
