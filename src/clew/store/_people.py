"""Annotators and their secrets in a database."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from clew.exceptions import InvalidParameterError
from clew.store._database import SqlPart, Transaction, record_of
from clew.store._models import AnnotatorRow, TokenRow
from clew.store._records import Annotator, Role, Token, TokenKind


class SqlPeople(SqlPart):
    """Annotators and tokens; `Store` says what each method promises."""

    def put_annotator(self, annotator: Annotator) -> None:
        if not annotator.name.strip():
            raise InvalidParameterError("an annotator needs a name")
        values = asdict(annotator)

        def work(transaction: Transaction) -> None:
            connection = transaction.connection
            change = sa.update(AnnotatorRow).where(AnnotatorRow.name == annotator.name)
            if not connection.execute(change.values(values)).rowcount:
                last = connection.execute(sa.select(sa.func.max(AnnotatorRow.number))).scalar()
                connection.execute(sa.insert(AnnotatorRow).values(number=(last or 0) + 1, **values))
            transaction.topics.add("annotators")

        self._database.write(work)

    def annotators(self) -> list[Annotator]:
        statement = sa.select(*AnnotatorRow.__table__.columns).order_by(AnnotatorRow.number)
        return [record_of(Annotator, row) for row in self._database.rows(statement)]

    def annotator(self, name: str) -> Annotator | None:
        statement = sa.select(*AnnotatorRow.__table__.columns).where(AnnotatorRow.name == name)
        row = self._database.first(statement)
        return None if row is None else record_of(Annotator, row)

    def make_token(
        self,
        kind: TokenKind,
        *,
        annotator: str | None = None,
        role: Role = "annotator",
        seconds: float | None = None,
        parent: str | None = None,
        scope: Mapping[str, Any] | None = None,
    ) -> str:
        secret, now = secrets.token_urlsafe(16), self._now()
        values = {
            "id": secrets.token_hex(6),
            "secret": hashed(secret.encode()),
            "kind": kind,
            "annotator": annotator,
            "role": role,
            "created": now,
            "expires": None if seconds is None else now + seconds,
            "is_revoked": False,
            "parent": parent,
            "scope": dict(scope or {}),
        }

        def work(transaction: Transaction) -> str:
            transaction.connection.execute(sa.insert(TokenRow).values(values))
            transaction.topics.add("annotators")
            return secret

        return self._database.write(work)

    def check_token(self, secret: str, kind: TokenKind) -> Token | None:
        def work(connection: Connection) -> Token | None:
            columns = sa.select(*TokenRow.__table__.columns)
            row = connection.execute(
                columns.where(TokenRow.secret == hashed(secret.encode()), TokenRow.kind == kind)
            ).first()
            if row is None or row.is_revoked:
                return None
            token = record_of(Token, row)
            if token.expires is not None and token.expires < self._now():
                return None
            if token.parent is not None:
                statement = sa.select(TokenRow.is_revoked).where(TokenRow.id == token.parent)
                if connection.execute(statement).scalar():
                    return None
            if token.annotator is not None:
                is_active = connection.execute(
                    sa.select(AnnotatorRow.is_active).where(AnnotatorRow.name == token.annotator)
                ).scalar()
                if is_active is False:
                    return None
            return token

        return self._database.read(work)

    def tokens(self, annotator: str | None = None) -> list[Token]:
        statement = sa.select(*TokenRow.__table__.columns).order_by(TokenRow.created.desc())
        if annotator is not None:
            statement = statement.where(TokenRow.annotator == annotator)
        return [record_of(Token, row) for row in self._database.rows(statement)]

    def revoke_token(self, id: str) -> bool:
        def work(transaction: Transaction) -> bool:
            statement = (
                sa.update(TokenRow)
                .where((TokenRow.id == id) | (TokenRow.parent == id))
                .values(is_revoked=True)
            )
            transaction.topics.add("annotators")
            return transaction.connection.execute(statement).rowcount > 0

        return self._database.write(work)


def hashed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
