//! What the HTTP side asks about models, keys and prices.

use futures_util::future::BoxFuture;
use ouroboros_proto::api::{
    ApiError, CatalogView, KeySet, KeyTest, KeyView, KeysView, ModelTestAnswer, ModelsView, PriceSet,
};
use ouroboros_proto::kind::{NanoDollars, SendId};

/// Routes to models, and the keys for them. What returns no future answers from memory, or blocks for as long as a small file takes;
/// then it runs on a thread for that.
pub trait Models: Send + Sync + 'static {
    /// Waits until somebody has looked for routes in this life: before that nothing can be said about them.
    fn settled(&self) -> BoxFuture<'_, ()>;

    /// The text with everything hidden that is a key, or looks like one.
    fn hide(&self, text: &str) -> String;

    /// Every route, from memory.
    fn routes(&self) -> ModelsView;

    /// Whether there is such a route, or a default one. From memory.
    ///
    /// # Errors
    /// There is none: what was looked for, and what to do.
    fn check(&self, route: Option<&str>) -> Result<(), ApiError>;

    /// Whether nothing that takes this route, or the default one, can cost anything. Not when there is none. From memory.
    fn is_free(&self, route: Option<&str>) -> bool;

    /// Whether this route, or the default one, takes images, where that is known. From memory.
    fn sees(&self, route: Option<&str>) -> Option<bool>;

    /// Looks for routes again.
    fn refresh(&self) -> BoxFuture<'_, ModelsView>;

    /// Makes a real call with a tool. It is charged and recorded as any other.
    fn test(&self, route: String) -> BoxFuture<'_, Result<ModelTestAnswer, ApiError>>;

    /// Records what an unresolved send cost, as its owner says; nothing, when its cost became known meanwhile. Durable when it returns.
    ///
    /// # Errors
    /// It could not be recorded now.
    fn receipt(&self, send: SendId, amount: NanoDollars) -> BoxFuture<'_, Result<(), ApiError>>;

    /// Prices as far as they are known, from memory.
    fn catalog(&self) -> Vec<CatalogView>;

    /// Sets, or with nothing set removes, the owner's own price of a route. It is durable when this returns. Blocks.
    ///
    /// # Errors
    /// It is no price, or cannot be stored.
    fn set_price(&self, price: PriceSet) -> Result<CatalogView, ApiError>;

    /// The keys, as far as they may be seen. Blocks.
    ///
    /// # Errors
    /// They cannot be read.
    fn keys(&self) -> Result<KeysView, ApiError>;

    /// Keeps a key. It is durable and in use when this returns. Blocks.
    ///
    /// # Errors
    /// No such provider, no key, or it cannot be stored.
    fn set_key(&self, key: KeySet) -> Result<KeyView, ApiError>;

    /// Forgets a key that was kept. Blocks.
    ///
    /// # Errors
    /// No such key, or it cannot be removed.
    fn remove_key(&self, provider: &str) -> Result<(), ApiError>;

    /// Asks the provider whether it accepts its key; costs nothing.
    fn test_key(&self, provider: String) -> BoxFuture<'_, Result<KeyTest, ApiError>>;
}
