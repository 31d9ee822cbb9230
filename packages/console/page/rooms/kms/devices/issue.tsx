import type { Reply } from '@warder/client/browser'
import { useState } from 'react'
import { kms } from '../../../api.ts'
import { CommandCode } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { saveText } from '../../../parts/copy.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Choice, Field, Form } from '../../../parts/field.tsx'
import { useShownOnce } from '../../../parts/secret.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { texts } from '../../../texts.ts'

const words = texts.devices
type Authority = Reply<'pki.authorities.list'>[number]

/** A private key that was made in this page, with its certificate. PEM. */
interface Issued {
  readonly key: string
  readonly certificate: string
}

const defaultDays = '397'

/**
 * Issues a certificate for a key pair that the page makes: the private key goes into a file, never to the service, and is in
 * the memory of the room alone until the room is left.
 */
export function IssueCertificate({ name }: { readonly name: string }) {
  const { rows, error, refetch } = kms.usePages('pki.authorities.list', {}, (page) => page)
  const [issued, setIssued] = useShownOnce<Issued>()
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  if (rows === undefined) return <Skeleton />
  const offered = rows.filter(({ profiles }) => profiles === undefined || profiles.includes('client'))
  return (
    <div className="sections">
      <div>
        <p>{words.issueLocal}</p>
        <CommandCode command={toCommand('warder kmip certificate', [name])} />
      </div>
      {issued !== undefined ? (
        <Files name={name} issued={issued} onDone={() => setIssued(undefined)} />
      ) : offered.length > 0 ? (
        <IssueForm name={name} authorities={offered} onIssued={setIssued} />
      ) : (
        <p className="quiet">{words.noAuthority}</p>
      )}
    </div>
  )
}

function IssueForm(props: {
  readonly name: string
  readonly authorities: readonly Authority[]
  readonly onIssued: (issued: Issued) => void
}) {
  const { name, authorities, onIssued } = props
  const { mutateAsync } = kms.useAct('pki.certificates.issue')
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const issue = async ({ authority = '', days = '' }: Readonly<Record<string, string>>): Promise<void> => {
    setError(undefined)
    setIsPending(true)
    try {
      const { publicKey, privateKey } = await createKeyPair()
      const { certificate, chain } = await mutateAsync({
        path: { id: authority },
        body: {
          ...{ public_key: publicKey, subject: toSubject(name), profile: 'client' as const },
          ...(days !== '' && { days: Number(days) }),
        },
      })
      onIssued({ key: privateKey, certificate: `${certificate}${chain}` })
    } catch (thrown) {
      setError(thrown)
    } finally {
      setIsPending(false)
    }
  }
  return (
    <Form submit={words.issue} error={error} isPending={isPending} onSubmit={(values) => void issue(values)}>
      <p>{words.issueHelp}</p>
      <Choice
        label={words.authority}
        name="authority"
        options={authorities.map(({ id, subject }) => ({ value: id, text: subject }))}
      />
      <Field
        label={words.days}
        name="days"
        defaultValue={defaultDays}
        inputMode="numeric"
        pattern="[0-9]{1,5}"
      />
    </Form>
  )
}

/** The files of the device, until the room is left. */
function Files(props: { readonly name: string; readonly issued: Issued; readonly onDone: () => void }) {
  const { name, issued, onDone } = props
  const file = name.replaceAll(/[^A-Za-z0-9._@-]/g, '_')
  return (
    <section className="notice" aria-label={words.files}>
      <p>{words.filesHelp}</p>
      <div className="actions">
        <button
          type="button"
          className="button"
          onClick={() => saveText(`${file}.crt`, issued.certificate, pemType)}
        >
          {words.saveCertificate}
        </button>
        <button type="button" className="button" onClick={() => saveText(`${file}.key`, issued.key, pemType)}>
          {words.saveKey}
        </button>
        <button type="button" className="button primary" onClick={onDone}>
          {words.saved}
        </button>
      </div>
    </section>
  )
}

const pemType = 'application/x-pem-file'

/** A P-256 key pair in PEM (SPKI, PKCS#8). */
async function createKeyPair(): Promise<{ readonly publicKey: string; readonly privateKey: string }> {
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ])
  const [spki, pkcs8] = await Promise.all([
    crypto.subtle.exportKey('spki', pair.publicKey),
    crypto.subtle.exportKey('pkcs8', pair.privateKey),
  ])
  return { publicKey: toPem('PUBLIC KEY', spki), privateKey: toPem('PRIVATE KEY', pkcs8) }
}

function toPem(label: string, der: ArrayBuffer): string {
  const base64 = btoa(String.fromCharCode(...new Uint8Array(der)))
  const lines = base64.replaceAll(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}

/** RFC 4514 §2.4. */
function toSubject(name: string): string {
  return `CN=${name.replaceAll(/[\\,+"<>;=#]/g, '\\$&')}`
}
