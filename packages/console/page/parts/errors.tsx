import { ClientError } from '@warder/client/browser'
import { Component, type ReactNode } from 'react'
import { texts } from '../texts.ts'

/** What a failed call means, in the words of the service. */
export function describeError(error: unknown): string {
  if (!(error instanceof ClientError)) return texts.errors.brokenHelp
  return error.kind === 'unreachable' ? texts.errors.unreachable : error.description
}

/** A failed call, with the way on. */
export function Failure({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const requestId = error instanceof ClientError ? error.requestId : undefined
  return (
    <div className="notice danger" role="alert">
      <strong>{error instanceof ClientError ? texts.errors.title : texts.errors.broken}</strong>
      <p>{describeError(error)}</p>
      {requestId !== undefined && <p className="quiet">{texts.errors.requestId(requestId)}</p>}
      {retry !== undefined && (
        <button type="button" className="button" onClick={retry}>
          {texts.errors.retry}
        </button>
      )}
    </div>
  )
}

/** Keeps the frame when a room fails. */
export class ErrorBoundary extends Component<
  { readonly children: ReactNode },
  { readonly error: unknown; readonly failed: boolean }
> {
  override state = { error: undefined as unknown, failed: false }

  static getDerivedStateFromError(error: unknown) {
    return { error, failed: true }
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children
    return (
      <Failure error={this.state.error} retry={() => this.setState({ error: undefined, failed: false })} />
    )
  }
}
