import { type ErrorShape, errorBody } from '@warder/server'

/** Microsoft's sample knows 400, 401 and 403 (KeysController.cs): what is not there, or cannot be used, is 400. */
const asBadRequest: ReadonlySet<number> = new Set([409, 422])

export const microsoftErrors: ErrorShape = {
  reply: (failed, { id }) => ({
    status: asBadRequest.has(failed.status) ? 400 : failed.status,
    json: errorBody(failed, id),
  }),
}
