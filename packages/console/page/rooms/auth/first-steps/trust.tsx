import { useInfo } from '../../../frame/session.ts'
import { CodeBlock, type Sample } from '../../../parts/code-block.tsx'
import { texts } from '../../../texts.ts'

const words = texts.firstSteps
const file = 'warder-authority.crt'

/** How systems trust an authority, with the file in the present folder. */
const samples: readonly Sample[] = [
  {
    title: 'Debian, Ubuntu',
    code: `sudo cp ${file} /usr/local/share/ca-certificates/\nsudo update-ca-certificates`,
  },
  {
    title: 'Fedora, RHEL',
    code: `sudo cp ${file} /etc/pki/ca-trust/source/anchors/\nsudo update-ca-trust`,
  },
  {
    title: 'macOS',
    code: `sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ${file}`,
  },
  { title: 'Windows', code: `certutil -addstore -f Root ${file}` },
]

/** The certificate of the local authority, and how to trust it. */
export function Trust() {
  const info = useInfo().data
  if (info === undefined) return null
  const { authority_sha256: fingerprint } = info
  if (fingerprint === null) return <p>{words.trustNothing}</p>
  return (
    <>
      <p>{words.trust}</p>
      <p>
        <a className="button" href="/ui/authority.crt" download={file}>
          {words.trustDownload}
        </a>
      </p>
      <p>{words.trustCheck}</p>
      <CodeBlock label={words.trustCheck} samples={[{ title: 'SHA-256', code: fingerprint }]} />
      <h3>{words.trustHow}</h3>
      <CodeBlock label={words.trustHow} samples={samples} />
      <p>{words.trustFirefox}</p>
    </>
  )
}
